//! The configuration: whatever a file says, it is read, or every finding has a place in it, words and a hint; the same
//! file is always read in the same way.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune_gateway::config::Config;

fuzz_target!(|text: &str| {
    let read = Config::parse(text, "attune.toml");
    assert_eq!(read, Config::parse(text, "attune.toml"));
    match read {
        Ok(config) => {
            // A change that says nothing changes nothing.
            assert_eq!(Config::parse(&format!("{text}\n# end\n"), "attune.toml").as_ref(), Ok(&config));
        }
        Err(findings) => {
            let lines = text.split('\n').count();
            assert!(findings.iter().next().is_some());
            for finding in findings.iter() {
                assert!((1..=lines).contains(&finding.line) && finding.column > 0, "{finding}");
                assert!(!finding.what.is_empty() && !finding.hint.is_empty(), "{finding}");
            }
            let said = findings.to_string();
            assert!(said.len() < 2000 * findings.iter().count() + 2000, "{said}");
            assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
        }
    }
});
