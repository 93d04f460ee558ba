//! The words around the questions of servers, in the language of whoever is asked. They are in `words/`, a file a language.
//!
//! 1. `{}` stands for what is filled in, in the order of the English text.
//! 2. Of `yes` and `no` the first is shown; `y`, `yes`, `true` and their opposites are understood in every language.

use std::sync::OnceLock;

use mcp_attune::language::{AcceptLanguage, Languages, lookup};
use serde::Deserialize;

/// The languages that there are words in, and English first, which stands in for all others.
const QUESTION_TEXT_FILES: [(&str, &str); 10] = [
    ("en", include_str!("../../words/en.json")),
    ("ar", include_str!("../../words/ar.json")),
    ("de", include_str!("../../words/de.json")),
    ("es", include_str!("../../words/es.json")),
    ("fr", include_str!("../../words/fr.json")),
    ("it", include_str!("../../words/it.json")),
    ("ja", include_str!("../../words/ja.json")),
    ("pt", include_str!("../../words/pt.json")),
    ("zh", include_str!("../../words/zh.json")),
    ("zh-TW", include_str!("../../words/zh-TW.json")),
];

/// The words of one language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionTexts {
    pub(super) asks: String,
    pub(super) no_address: String,
    pub(super) go_to: String,
    pub(super) open: String,
    pub(super) done: String,
    pub(super) form: String,
    pub(super) answer: String,
    pub(super) send: String,
    pub(super) yes: Vec<String>,
    pub(super) no: Vec<String>,
    pub(super) neither: String,
    pub(super) required: String,
    pub(super) choices: String,
    pub(super) choice: String,
    pub(super) whole_number: String,
    pub(super) number: String,
    pub(super) text: String,
    pub(super) email: String,
    pub(super) uri: String,
    pub(super) date: String,
    pub(super) date_time: String,
    pub(super) leave_out: String,
    pub(super) write_yes_or_no: String,
    pub(super) write_whole_number: String,
    pub(super) write_number: String,
    pub(super) write_email: String,
    pub(super) write_uri: String,
    pub(super) write_date: String,
    pub(super) write_date_time: String,
    pub(super) misfit: String,
    pub(super) no_choices: String,
    pub(super) no_such_choice: String,
}

impl QuestionTexts {
    /// English, which errors and scripts have.
    pub(super) fn english() -> &'static Self {
        static ENGLISH: OnceLock<QuestionTexts> = OnceLock::new();
        ENGLISH.get_or_init(|| Self::read(QUESTION_TEXT_FILES[0].1))
    }

    /// Those for a preference.
    pub(super) fn for_preference(accept: &AcceptLanguage) -> Self {
        let offered = QUESTION_TEXT_FILES.iter().skip(1).map(|(language, _)| *language);
        let languages = Languages::new(QUESTION_TEXT_FILES[0].0, offered).expect("the tags above are tags");
        let chosen = lookup(accept, &languages).language.as_str();
        let of = QUESTION_TEXT_FILES
            .iter()
            .find(|(language, _)| *language == chosen)
            .unwrap_or(&QUESTION_TEXT_FILES[0]);
        Self::read(of.1)
    }

    fn read(file: &str) -> Self {
        serde_json::from_str(file).expect("the files are built in, and a test reads each")
    }

    /// What a yes or a no says.
    pub(super) fn parse_yes_or_no(&self, said: &str) -> Option<bool> {
        let said = said.to_lowercase();
        let is = |own: &[String], common: [&str; 3]| own.contains(&said) || common.contains(&said.as_str());
        match (is(&self.yes, ["y", "yes", "true"]), is(&self.no, ["n", "no", "false"])) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        }
    }

    /// How a yes or a no is shown.
    pub(super) fn yes_or_no(&self, yes: bool) -> &str {
        let words = if yes { &self.yes } else { &self.no };
        words.first().map_or("", String::as_str)
    }
}

/// Text with each of its `{}` filled in.
pub(super) fn fill_placeholders(text: &str, with: &[&str]) -> String {
    let mut parts = text.split("{}");
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for (part, value) in parts.zip(with) {
        filled.push_str(value);
        filled.push_str(part);
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(accept: &str) -> QuestionTexts {
        QuestionTexts::for_preference(&AcceptLanguage::parse(accept).expect("a preference"))
    }

    #[test]
    fn every_language_has_every_word_and_fills_in_as_much() {
        let read = |file: &str| -> serde_json::Map<String, serde_json::Value> {
            QuestionTexts::read(file);
            serde_json::from_str(file).expect("a file")
        };
        let english = read(QUESTION_TEXT_FILES[0].1);
        for (language, file) in QUESTION_TEXT_FILES {
            for (name, word) in read(file) {
                let gaps = |word: &serde_json::Value| word.to_string().matches("{}").count();
                assert_eq!(gaps(&word), gaps(&english[&name]), "{language}: {name}");
                assert!(word.as_str().is_none_or(|word| !word.trim().is_empty()), "{language}: {name}");
            }
            let words = QuestionTexts::read(file);
            for yes in [true, false] {
                assert_eq!(words.parse_yes_or_no(words.yes_or_no(yes)), Some(yes), "{language}");
            }
            assert!(words.yes.iter().all(|yes| !words.no.contains(yes)), "{language}");
        }
    }

    #[test]
    fn the_language_is_the_one_that_is_wanted_most() {
        assert_eq!(words("de-CH").asks, "{} fragt:");
        assert_eq!(words("zh-HK, en").asks, "{} 詢問:");
        assert_eq!(words("ko, fr;q=0.5").yes_or_no(true), "o");
        assert_eq!(words("ko").asks, "{} asks:");
    }

    #[test]
    fn yes_and_no_are_understood_in_the_language_and_in_english() {
        let german = words("de");
        assert_eq!(german.parse_yes_or_no("Ja"), Some(true));
        assert_eq!(german.parse_yes_or_no("y"), Some(true));
        assert_eq!(german.parse_yes_or_no("NEIN"), Some(false));
        assert_eq!(german.parse_yes_or_no("oui"), None);
        assert_eq!(german.parse_yes_or_no(""), None);
    }

    #[test]
    fn gaps_are_filled_in_their_order() {
        assert_eq!(fill_placeholders("a {} b {}", &["1", "2"]), "a 1 b 2");
        // What is filled in is not filled in again.
        assert_eq!(fill_placeholders("{} b {}", &["{}", "2"]), "{} b 2");
        assert_eq!(fill_placeholders("none", &["1"]), "none");
    }
}
