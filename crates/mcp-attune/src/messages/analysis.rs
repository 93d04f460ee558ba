//! What is in a message, for those who compare one language with another.

use std::collections::{BTreeSet, HashSet};

use super::pattern::{FluentPattern, PatternPiece, PatternValue, SelectKey};
use super::set::FluentMessages;
use crate::format::PluralForm;

/// Stands in [`MessageAnalysis::said`] where a value does.
pub const VALUE_PLACEHOLDER: char = '\u{fffc}';

/// A message taken apart, with what it refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct MessageAnalysis {
    /// The variables that it shows or chooses by.
    pub variables: BTreeSet<Box<str>>,
    /// What it says itself, without what it refers to: each variant on a line of its own, [`VALUE_PLACEHOLDER`] for values.
    pub own: String,
    /// What it says, with what it refers to.
    pub said: String,
    /// How many characters of fixed text its longest rendering has.
    pub longest: usize,
    /// The choices by plural form.
    pub choices: Vec<PluralChoice>,
}

/// One choice by plural form: `{ $count -> [one] … *[other] … }`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PluralChoice {
    /// The forms that it has a text for: `one`, `few`.
    pub forms: BTreeSet<Box<str>>,
    /// The numbers that have a text of their own, as they are written.
    pub numbers: BTreeSet<Box<str>>,
}

impl FluentMessages {
    /// What is in the message of a key.
    ///
    /// ```
    /// use mcp_attune::messages::{MessageDefinition, FluentMessages};
    ///
    /// let text = "{ $n ->\n [one] Ein Platz\n *[other] { $n } Plätze\n} in { -city }";
    /// let entries = [("seats", text), ("-city", "{ $city }")].map(|(key, text)| MessageDefinition { key, source: None, text });
    /// let look = FluentMessages::new(entries).0.analyze("seats").unwrap();
    /// assert_eq!(look.variables.iter().map(|name| &**name).collect::<Vec<_>>(), ["city", "n"]);
    /// assert_eq!(look.longest, "Ein Platz in ".len());
    /// ```
    #[must_use]
    pub fn analyze(&self, key: &str) -> Option<MessageAnalysis> {
        let mut looker =
            MessageAnalyzer { messages: self, look: MessageAnalysis::default(), seen: HashSet::from([key]) };
        looker.look.longest = looker.pattern(self.pattern(key)?, true);
        Some(looker.look)
    }
}

impl MessageAnalysis {
    /// What is in a pattern that refers to no message. Returns `None` where it cannot be read.
    pub(crate) fn of_pattern(text: &str) -> Option<Self> {
        let (pattern, messages) = (FluentPattern::read(text).ok()?, FluentMessages::default());
        let mut looker = MessageAnalyzer { messages: &messages, look: Self::default(), seen: HashSet::new() };
        looker.look.longest = looker.pattern(&pattern, true);
        Some(looker.look)
    }
}

struct MessageAnalyzer<'a> {
    messages: &'a FluentMessages,
    look: MessageAnalysis,
    /// What was looked at: references can multiply, and their words are wanted once.
    seen: HashSet<&'a str>,
}

impl<'a> MessageAnalyzer<'a> {
    /// Looks at a pattern, and counts its longest text.
    fn pattern(&mut self, pattern: &'a FluentPattern, own: bool) -> usize {
        pattern.0.iter().map(|piece| self.piece(piece, own)).fold(0, usize::saturating_add)
    }

    fn piece(&mut self, piece: &'a PatternPiece, own: bool) -> usize {
        match piece {
            PatternPiece::Text(text) => {
                self.append_text(text, own);
                text.chars().count()
            }
            PatternPiece::Value(value) => self.value(value, own),
            PatternPiece::Select(select) => {
                if let Some(name) = select.on.variable() {
                    self.look.variables.insert(name.into());
                }
                self.push_choice(select.variants.iter().map(|(key, _)| key));
                let mut longest = 0;
                for (_, pattern) in &select.variants {
                    self.append_text("\n", own);
                    longest = longest.max(self.pattern(pattern, own));
                }
                self.append_text("\n", own);
                longest
            }
        }
    }

    fn value(&mut self, value: &'a PatternValue, own: bool) -> usize {
        match value {
            PatternValue::Text(text) => {
                self.append_text(text, own);
                return text.chars().count();
            }
            PatternValue::Message(key) => {
                if own {
                    self.look.own.push(VALUE_PLACEHOLDER);
                }
                let pattern = self.messages.pattern(key).filter(|_| self.seen.insert(key));
                return pattern.map_or(0, |pattern| self.pattern(pattern, false));
            }
            PatternValue::Variable(name) | PatternValue::Call(name, _) => {
                self.look.variables.insert(name.clone());
            }
            PatternValue::Number(_) => {}
        }
        self.append_text(VALUE_PLACEHOLDER.encode_utf8(&mut [0; 4]), own);
        0
    }

    fn append_text(&mut self, text: &str, own: bool) {
        self.look.said.push_str(text);
        if own {
            self.look.own.push_str(text);
        }
    }

    fn push_choice(&mut self, keys: impl Iterator<Item = &'a SelectKey>) {
        let mut choice = PluralChoice { forms: BTreeSet::new(), numbers: BTreeSet::new() };
        for key in keys {
            match key {
                SelectKey::Word(word) if PluralForm::named(word).is_some() => {
                    choice.forms.insert(word.clone())
                }
                // A choice by words of the server's.
                SelectKey::Word(_) => return,
                SelectKey::Number(number) => choice.numbers.insert(number.to_string().into()),
            };
        }
        // `other` alone is also the last resort of choices by words.
        if choice.forms.iter().any(|form| &**form != "other") {
            self.look.choices.push(choice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::set::MessageDefinition;
    use super::*;

    #[test]
    fn takes_messages_apart_with_what_they_refer_to() {
        let entries = [
            ("a", "{ $n ->\n [0] none\n [one] one { $x }\n *[other] many { b }\n} `{ TEXT($y) }`{ b }"),
            ("b", "by { $z }{ \"{\" }"),
            ("c", "{ $word ->\n [red] rot\n *[other] bunt\n}"),
        ];
        let entries = entries.map(|(key, text)| MessageDefinition { key, source: None, text });
        let (messages, wrong) = FluentMessages::new(entries);
        assert_eq!(wrong, []);
        let look = messages.analyze("a").unwrap();
        assert_eq!(look.variables.iter().map(|name| &**name).collect::<Vec<_>>(), ["n", "x", "y", "z"]);
        assert_eq!(look.own, "\nnone\none \u{fffc}\nmany \u{fffc}\n `\u{fffc}`\u{fffc}");
        assert!(look.said.contains("many by \u{fffc}{\n"), "{:?}", look.said);
        // What is referred to twice is counted once.
        assert_eq!(look.longest, "many by { ``".len());
        let forms =
            |choice: &PluralChoice| choice.forms.iter().chain(&choice.numbers).cloned().collect::<Vec<_>>();
        assert_eq!(
            look.choices.iter().map(forms).collect::<Vec<_>>(),
            [["one", "other", "0"].map(Into::into)]
        );
        assert_eq!(messages.analyze("c").unwrap().choices, []);
        assert_eq!(messages.analyze("gone"), None);
    }
}
