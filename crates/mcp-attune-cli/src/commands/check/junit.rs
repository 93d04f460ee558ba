//! The report as JUnit XML, which most CI systems show.

use std::fmt::Write;
use std::time::Duration;

use super::outcome::{Check, Outcome};
use super::report::{Judged, Report};
use super::standard::By;

pub(super) fn junit(report: &Report) -> String {
    let counts = &report.counts;
    let all = counts.all();
    let time: Duration = report.rules.iter().map(Judged::took).sum();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"attune check\" tests=\"{all}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" time=\"{}\">",
        counts.failed,
        all - counts.passed - counts.failed,
        seconds(time)
    );
    for judged in &report.rules {
        suite(&mut xml, report, judged);
    }
    xml + "</testsuites>\n"
}

fn suite(xml: &mut String, report: &Report, judged: &Judged) {
    let Judged { rule, title, checks, .. } = judged;
    let failed = judged.count(Outcome::Failed);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{}\" time=\"{}\">",
        escaped(&format!("{rule}: {title}")),
        checks.len(),
        checks.len() - failed - judged.count(Outcome::Passed),
        seconds(judged.took())
    );
    let by = match report.by {
        By::Spec => "spec",
        By::Attune => "attune",
    };
    let allowed: Vec<_> = judged.checks.iter().filter(|check| check.outcome == Outcome::Allowed).collect();
    let allowed: Vec<_> = allowed.into_iter().map(|check| check.id.as_str()).collect();
    let _ = writeln!(
        xml,
        "    <properties><property name=\"by\" value=\"{by}\"/><property name=\"allowed\" value=\"{}\"/></properties>",
        escaped(&allowed.join(" "))
    );
    for check in checks {
        case(xml, rule, check);
    }
    xml.push_str("  </testsuite>\n");
}

fn case(xml: &mut String, rule: &str, check: &Check) {
    let (rule, title) = (escaped(rule), escaped(check.title));
    let time = seconds(check.took);
    let _ = write!(xml, "    <testcase classname=\"{rule}\" name=\"{title}\" time=\"{time}\"");
    let why = escaped(check.why.as_deref().unwrap_or_default());
    let _ = match check.outcome {
        Outcome::Passed => writeln!(xml, "/>"),
        Outcome::NotApplicable => writeln!(xml, "><skipped message=\"not applicable: {why}\"/></testcase>"),
        Outcome::Unclear => writeln!(xml, "><skipped message=\"unclear: {why}\"/></testcase>"),
        Outcome::Warning => {
            writeln!(xml, "><skipped message=\"warning: {why}: {}\"/></testcase>", told(check))
        }
        Outcome::Allowed => {
            writeln!(xml, "><skipped message=\"allowed, {why}: {}\"/></testcase>", told(check))
        }
        Outcome::Failed => {
            let exchange =
                check.exchange.as_ref().map(|it| format!("sent:\n{}\n\ncame:\n{}", it.sent, it.came));
            let hint = check.hint.unwrap_or_default();
            let body = escaped(&format!("{}\n\nhint: {hint}", exchange.unwrap_or_default()));
            writeln!(xml, "><failure message=\"{}\">{body}</failure></testcase>", told(check))
        }
    };
}

/// What was expected, and what came.
fn told(check: &Check) -> String {
    let text = |text: &Option<String>| escaped(text.as_deref().unwrap_or_default());
    format!("expected {}, came {}", text(&check.expected), text(&check.came))
}

fn seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
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
