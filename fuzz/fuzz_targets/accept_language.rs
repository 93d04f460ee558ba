//! The preference parser and the lookup: source text kept, an offered tag chosen, never a panic.
//!
//! The first line of the input is the preference, each further line a language on offer, the default first.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mcp_attune::language::{AcceptLanguage, ContentLanguage, Languages, Tag, Why, lookup};

fuzz_target!(|input: &str| {
    let mut lines = input.split('\n');
    let text = lines.next().unwrap_or_default();
    let _ = ContentLanguage::parse(text).map(|content| assert_eq!(content.to_string().len() > 0, true));
    let Ok(accept) = AcceptLanguage::parse(text) else { return };
    assert_eq!(accept.as_str(), text);
    for coarse in [accept.coarse()] {
        assert_eq!(AcceptLanguage::parse(coarse.as_str()).unwrap(), coarse);
    }
    let offered: Vec<&str> = lines.filter(|line| Tag::parse(line).is_ok()).take(50).collect();
    let Some((default, others)) = offered.split_first() else { return };
    let languages = Languages::new(*default, others.iter().copied()).unwrap();
    let choice = lookup(&accept, &languages);
    assert!(offered.contains(&choice.language.as_str()));
    match choice.why {
        Why::Default | Why::Relative => assert!(choice.quality.is_none() && choice.range.is_none()),
        _ => assert!(!choice.quality.unwrap().is_zero() && choice.range.is_some()),
    }
    // Case means nothing.
    let upper = text.to_ascii_uppercase().replace(";Q=", ";q=");
    if let Ok(upper) = AcceptLanguage::parse(&upper) {
        assert_eq!(lookup(&upper, &languages).language, choice.language);
    }
});
