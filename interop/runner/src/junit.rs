//! The outcome of every cell as JUnit XML, for whoever draws it.

use std::fmt::Write as _;

use super::suite::{Outcome, Verdict};

/// Writes one test suite a part, in the order of the outcomes.
pub(crate) fn write(outcomes: &[Outcome]) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"interop\">\n");
    for part in outcomes.chunk_by(|one, other| one.part == other.part) {
        let count = |is: fn(&Verdict) -> bool| part.iter().filter(|outcome| is(&outcome.verdict)).count();
        let time: f64 = part.iter().map(|outcome| outcome.took.as_secs_f64()).sum();
        let _ = writeln!(
            out,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{time:.3}\">",
            escaped(part.first().map_or("", |first| first.part)),
            part.len(),
            count(|verdict| matches!(verdict, Verdict::Failed(_))),
            count(|verdict| matches!(verdict, Verdict::Broken(_))),
            count(|verdict| matches!(verdict, Verdict::Skipped(_))),
        );
        for outcome in part {
            write_case(&mut out, outcome);
        }
        out.push_str("  </testsuite>\n");
    }
    out + "</testsuites>\n"
}

fn write_case(out: &mut String, Outcome { part, name, verdict, took }: &Outcome) {
    let (part, name, took) = (escaped(part), escaped(name), took.as_secs_f64());
    let _ = write!(out, "    <testcase classname=\"{part}\" name=\"{name}\" time=\"{took:.3}\"");
    let _ = match verdict {
        Verdict::Passed => writeln!(out, "/>"),
        Verdict::Failed(faults) => {
            let first = escaped(faults.first().map_or("", String::as_str));
            let all = escaped(&faults.join("\n"));
            writeln!(out, ">\n      <failure message=\"{first}\">{all}</failure>\n    </testcase>")
        }
        Verdict::Broken(why) => {
            writeln!(out, ">\n      <error message=\"{}\"/>\n    </testcase>", escaped(why))
        }
        Verdict::Skipped(why) => {
            writeln!(out, ">\n      <skipped message=\"{}\"/>\n    </testcase>", escaped(why))
        }
    };
}

/// A text in XML, in a value or between tags. What XML cannot hold at all is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            char if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            char => out.push(char),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn every_cell_is_a_case_and_what_is_wrong_with_it_is_in_it() {
        let outcome = |part, name: &str, verdict| Outcome {
            part,
            name: name.to_owned(),
            verdict,
            took: Duration::from_millis(1500),
        };
        let xml = write(&[
            outcome("a", "fine", Verdict::Passed),
            outcome("a", "b < c", Verdict::Failed(vec!["\"one\" \u{1b}".to_owned(), "two".to_owned()])),
            outcome("d", "gone", Verdict::Skipped("no network".to_owned())),
            outcome("d", "broken", Verdict::Broken("it ended early".to_owned())),
        ]);
        for line in [
            "<testsuite name=\"a\" tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\" time=\"3.000\">",
            "<testcase classname=\"a\" name=\"fine\" time=\"1.500\"/>",
            "<testcase classname=\"a\" name=\"b &lt; c\" time=\"1.500\">",
            "<failure message=\"&quot;one&quot; \u{fffd}\">&quot;one&quot; \u{fffd}&#10;two</failure>",
            "<testsuite name=\"d\" tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"1\" time=\"3.000\">",
            "<skipped message=\"no network\"/>",
            "<error message=\"it ended early\"/>",
        ] {
            assert!(xml.contains(line), "{line}\n{xml}");
        }
    }
}
