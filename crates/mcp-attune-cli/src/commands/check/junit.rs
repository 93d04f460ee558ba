//! The report as JUnit XML, which most CI systems show.

use std::fmt::Write;
use std::time::Duration;

use super::outcome::{ScenarioOutcome, ScenarioResult};
use super::report::{JudgedRule, ServerCheckReport};
use super::standard::RuleAuthority;

pub(super) fn render_junit(report: &ServerCheckReport) -> String {
    let counts = &report.counts;
    let all = counts.all();
    let time: Duration = report.rules.iter().map(JudgedRule::took).sum();
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

fn suite(xml: &mut String, report: &ServerCheckReport, judged: &JudgedRule) {
    let JudgedRule { rule, title, checks, .. } = judged;
    let failed = judged.count(ScenarioOutcome::Failed);
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{}\" time=\"{}\">",
        escaped(&format!("{rule}: {title}")),
        checks.len(),
        checks.len() - failed - judged.count(ScenarioOutcome::Passed),
        seconds(judged.took())
    );
    let by = match report.by {
        RuleAuthority::Spec => "spec",
        RuleAuthority::Attune => "attune",
    };
    let allowed: Vec<_> =
        judged.checks.iter().filter(|check| check.outcome == ScenarioOutcome::Allowed).collect();
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

fn case(xml: &mut String, rule: &str, check: &ScenarioResult) {
    let (rule, title) = (escaped(rule), escaped(check.title));
    let time = seconds(check.took);
    let _ = write!(xml, "    <testcase classname=\"{rule}\" name=\"{title}\" time=\"{time}\"");
    let why = escaped(check.why.as_deref().unwrap_or_default());
    let _ = match check.outcome {
        ScenarioOutcome::Passed => writeln!(xml, "/>"),
        ScenarioOutcome::NotApplicable => {
            writeln!(xml, "><skipped message=\"not applicable: {why}\"/></testcase>")
        }
        ScenarioOutcome::Unclear => writeln!(xml, "><skipped message=\"unclear: {why}\"/></testcase>"),
        ScenarioOutcome::Warning => {
            writeln!(xml, "><skipped message=\"warning: {why}: {}\"/></testcase>", describe_failure(check))
        }
        ScenarioOutcome::Allowed => {
            writeln!(xml, "><skipped message=\"allowed, {why}: {}\"/></testcase>", describe_failure(check))
        }
        ScenarioOutcome::Failed => {
            let exchange =
                check.exchange.as_ref().map(|it| format!("sent:\n{}\n\ncame:\n{}", it.sent, it.came));
            let hint = check.hint.unwrap_or_default();
            let body = escaped(&format!("{}\n\nhint: {hint}", exchange.unwrap_or_default()));
            writeln!(xml, "><failure message=\"{}\">{body}</failure></testcase>", describe_failure(check))
        }
    };
}

/// What was expected, and what came.
fn describe_failure(check: &ScenarioResult) -> String {
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
    use crate::commands::check::judge::rule_broken;
    use crate::commands::check::report::CheckedServer;
    use crate::commands::check::scenarios;
    use crate::commands::check::selector::RuleSelector;
    use crate::commands::check::standard::CheckPolicy;
    use crate::rules::RuleLedger;

    /// A scenario that took so long.
    fn check(id: &str, is_right: bool, milliseconds: u64) -> (&'static str, ScenarioResult) {
        let scenario = scenarios::all().find(|scenario| scenario.id() == id).unwrap();
        let verdict = if is_right { Ok(()) } else { Err(rule_broken(0, "x", "y")) };
        let took = Duration::from_millis(milliseconds);
        (scenario.rule, ScenarioResult { took, ..ScenarioResult::judged(scenario, &[], verdict) })
    }

    #[test]
    fn counts_and_seconds_are_told_of_everything_every_rule_and_every_case() {
        let rules = RuleLedger::built_in().unwrap();
        let allowed = vec![RuleSelector::read(&rules, "H13/answer").unwrap()];
        let standard = CheckPolicy { allowed, ..CheckPolicy::default() };
        let (called, left_out) = (Vec::new(), Vec::new());
        let subject = CheckedServer { server: "s".to_owned(), version: "v".to_owned(), called, left_out };
        let checks = vec![
            check("H9/form", false, 250),
            check("H9/every-fault", true, 1500),
            check("H13/too-deep", false, 100),
            check("H13/answer", false, 25),
        ];
        let xml = render_junit(&ServerCheckReport::new(&rules, &standard, subject, checks, Vec::new()));
        let lines = |starts: &str| -> Vec<&str> {
            let starts = |line: &&str| line.trim_start().starts_with(starts);
            xml.lines()
                .filter(starts)
                .map(|line| line.split_once(" tests=").map_or(line, |(_, end)| end))
                .collect()
        };
        let counts = r#""4" failures="1" errors="0" skipped="2" time="1.875">"#;
        assert_eq!(lines("<testsuites "), [counts], "{xml}");
        let counts = [
            r#""2" failures="1" errors="0" skipped="0" time="1.750">"#,
            r#""2" failures="0" errors="0" skipped="2" time="0.125">"#,
        ];
        assert_eq!(lines("<testsuite "), counts, "{xml}");
        let by = |allowed: &str| {
            format!(r#"<property name="by" value="spec"/><property name="allowed" value="{allowed}"/>"#)
        };
        assert!(xml.contains(&by("")) && xml.contains(&by("H13/answer")), "{xml}");
        let cases = lines("<testcase ");
        for (case, ends) in cases.iter().zip([
            r#" time="0.250"><failure message="expected x, came y">"#,
            r#" time="1.500"/>"#,
            r#" time="0.100"><skipped message="warning: "#,
            r#" time="0.025"><skipped message="allowed, --allow: expected x, came y"/></testcase>"#,
        ]) {
            assert!(case.contains(ends), "{ends}: {case}");
        }
        assert_eq!(cases.len(), 4, "{xml}");
    }

    #[test]
    fn xml_cannot_be_broken_by_what_came() {
        assert_eq!(escaped("<a b=\"c\">&\u{1}\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}\n");
    }
}
