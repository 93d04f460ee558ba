//! What is in a message, for those who compare one language with another.

use std::collections::{BTreeSet, HashSet};

use super::pattern::{Key, Pattern, Piece, Value};
use super::set::Messages;
use crate::format::Plural;

/// Stands in [`Look::said`] where a value does.
pub const VALUE: char = '\u{fffc}';

/// A message taken apart, with what it refers to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Look {
    /// The variables that it shows or chooses by.
    pub variables: BTreeSet<Box<str>>,
    /// What it says itself, without what it refers to: each variant on a line of its own, [`VALUE`] for values.
    pub own: String,
    /// What it says, with what it refers to.
    pub said: String,
    /// How many characters of fixed text its longest rendering has.
    pub longest: usize,
    /// The choices by plural form.
    pub choices: Vec<Choice>,
}

/// One choice by plural form: `{ $count -> [one] … *[other] … }`.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Choice {
    /// The forms that it has a text for: `one`, `few`.
    pub forms: BTreeSet<Box<str>>,
    /// The numbers that have a text of their own, as they are written.
    pub numbers: BTreeSet<Box<str>>,
}

impl Messages {
    /// What is in the message of a key.
    ///
    /// ```
    /// use mcp_attune::messages::{Entry, Messages};
    ///
    /// let text = "{ $n ->\n [one] Ein Platz\n *[other] { $n } Plätze\n} in { -city }";
    /// let entries = [("seats", text), ("-city", "{ $city }")].map(|(key, text)| Entry { key, source: None, text });
    /// let look = Messages::new(entries).0.look("seats").unwrap();
    /// assert_eq!(look.variables.iter().map(|name| &**name).collect::<Vec<_>>(), ["city", "n"]);
    /// assert_eq!(look.longest, "Ein Platz in ".len());
    /// ```
    #[must_use]
    pub fn look(&self, key: &str) -> Option<Look> {
        let mut looker = Looker { messages: self, look: Look::default(), seen: HashSet::from([key]) };
        looker.look.longest = looker.pattern(self.pattern(key)?, true);
        Some(looker.look)
    }
}

impl Look {
    /// What is in a pattern that refers to no message. Returns `None` where it cannot be read.
    pub(crate) fn of_pattern(text: &str) -> Option<Self> {
        let (pattern, messages) = (Pattern::read(text).ok()?, Messages::default());
        let mut looker = Looker { messages: &messages, look: Self::default(), seen: HashSet::new() };
        looker.look.longest = looker.pattern(&pattern, true);
        Some(looker.look)
    }
}

struct Looker<'a> {
    messages: &'a Messages,
    look: Look,
    /// What was looked at: references can multiply, and their words are wanted once.
    seen: HashSet<&'a str>,
}

impl<'a> Looker<'a> {
    /// Looks at a pattern, and counts its longest text.
    fn pattern(&mut self, pattern: &'a Pattern, own: bool) -> usize {
        pattern.0.iter().map(|piece| self.piece(piece, own)).fold(0, usize::saturating_add)
    }

    fn piece(&mut self, piece: &'a Piece, own: bool) -> usize {
        match piece {
            Piece::Text(text) => {
                self.say(text, own);
                text.chars().count()
            }
            Piece::Value(value) => self.value(value, own),
            Piece::Select(select) => {
                if let Some(name) = select.on.variable() {
                    self.look.variables.insert(name.into());
                }
                self.choice(select.variants.iter().map(|(key, _)| key));
                let mut longest = 0;
                for (_, pattern) in &select.variants {
                    self.say("\n", own);
                    longest = longest.max(self.pattern(pattern, own));
                }
                self.say("\n", own);
                longest
            }
        }
    }

    fn value(&mut self, value: &'a Value, own: bool) -> usize {
        match value {
            Value::Text(text) => {
                self.say(text, own);
                return text.chars().count();
            }
            Value::Message(key) => {
                if own {
                    self.look.own.push(VALUE);
                }
                let pattern = self.messages.pattern(key).filter(|_| self.seen.insert(key));
                return pattern.map_or(0, |pattern| self.pattern(pattern, false));
            }
            Value::Variable(name) | Value::Call(name, _) => {
                self.look.variables.insert(name.clone());
            }
            Value::Number(_) => {}
        }
        self.say(VALUE.encode_utf8(&mut [0; 4]), own);
        0
    }

    fn say(&mut self, text: &str, own: bool) {
        self.look.said.push_str(text);
        if own {
            self.look.own.push_str(text);
        }
    }

    fn choice(&mut self, keys: impl Iterator<Item = &'a Key>) {
        let mut choice = Choice { forms: BTreeSet::new(), numbers: BTreeSet::new() };
        for key in keys {
            match key {
                Key::Word(word) if Plural::named(word).is_some() => choice.forms.insert(word.clone()),
                // A choice by words of the server's.
                Key::Word(_) => return,
                Key::Number(number) => choice.numbers.insert(number.to_string().into()),
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
    use super::super::set::Entry;
    use super::*;

    #[test]
    fn takes_messages_apart_with_what_they_refer_to() {
        let entries = [
            ("a", "{ $n ->\n [0] none\n [one] one { $x }\n *[other] many { b }\n} `{ TEXT($y) }`{ b }"),
            ("b", "by { $z }{ \"{\" }"),
            ("c", "{ $word ->\n [red] rot\n *[other] bunt\n}"),
        ];
        let entries = entries.map(|(key, text)| Entry { key, source: None, text });
        let (messages, wrong) = Messages::new(entries);
        assert_eq!(wrong, []);
        let look = messages.look("a").unwrap();
        assert_eq!(look.variables.iter().map(|name| &**name).collect::<Vec<_>>(), ["n", "x", "y", "z"]);
        assert_eq!(look.own, "\nnone\none \u{fffc}\nmany \u{fffc}\n `\u{fffc}`\u{fffc}");
        assert!(look.said.contains("many by \u{fffc}{\n"), "{:?}", look.said);
        // What is referred to twice is counted once.
        assert_eq!(look.longest, "many by { ``".len());
        let forms = |choice: &Choice| choice.forms.iter().chain(&choice.numbers).cloned().collect::<Vec<_>>();
        assert_eq!(
            look.choices.iter().map(forms).collect::<Vec<_>>(),
            [["one", "other", "0"].map(Into::into)]
        );
        assert_eq!(messages.look("c").unwrap().choices, []);
        assert_eq!(messages.look("gone"), None);
    }
}
