//! The report as JUnit XML, which most CI systems show.

use std::fmt::Write;

use super::report::{Check, Judged, Outcome, Report};

pub(super) fn junit(report: &Report) -> String {
    let counts = &report.counts;
    let all = counts.passed + counts.failed + counts.not_applicable + counts.unclear;
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"attune check\" tests=\"{all}\" failures=\"{}\" errors=\"0\" skipped=\"{}\">",
        counts.failed,
        counts.not_applicable + counts.unclear
    );
    for judged in &report.rules {
        suite(&mut xml, judged);
    }
    xml + "</testsuites>\n"
}

fn suite(xml: &mut String, judged: &Judged) {
    let Judged { rule, title, checks, .. } = judged;
    let skipped = judged.count(Outcome::NotApplicable) + judged.count(Outcome::Unclear);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{skipped}\">",
        escaped(&format!("{rule}: {title}")),
        checks.len(),
        judged.count(Outcome::Failed)
    );
    for check in checks {
        case(xml, rule, check);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, rule: &str, check: &Check) {
    let (rule, title) = (escaped(rule), escaped(check.title));
    let _ = write!(xml, "    <testcase classname=\"{rule}\" name=\"{title}\"");
    let why = escaped(check.why.as_deref().unwrap_or_default());
    let _ = match check.outcome {
        Outcome::Passed => writeln!(xml, "/>"),
        Outcome::NotApplicable => writeln!(xml, "><skipped message=\"not applicable: {why}\"/></testcase>"),
        Outcome::Unclear => writeln!(xml, "><skipped message=\"unclear: {why}\"/></testcase>"),
        Outcome::Failed => {
            let text = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
            let (expected, came) = (text(&check.expected), text(&check.came));
            let exchange =
                check.exchange.as_ref().map(|it| format!("sent:\n{}\n\ncame:\n{}", it.sent, it.came));
            let hint = check.hint.unwrap_or_default();
            let body = escaped(&format!("{}\n\nhint: {hint}", exchange.unwrap_or_default()));
            writeln!(
                xml,
                "><failure message=\"expected {expected}, came {came}\">{body}</failure></testcase>"
            )
        }
    };
}

/// Text for XML, without the characters that it cannot have.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(char),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            char => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xml_cannot_be_broken_by_what_came() {
        assert_eq!(escaped("<a b=\"c\">&\u{1}\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\n");
    }
}
