//! Settings whose value is one of a few words, such as `log = "info"`.

use super::findings::ConfigProblem;

/// A setting whose value is one of a few words. Implemented by the `choices!` macro, and by hand for enums of
/// other crates.
pub(super) trait KeywordSetting: Copy + PartialEq + 'static {
    /// Every word with its value. The JSON Schema lists the words in this order.
    const ALL: &'static [(&'static str, Self)];
}

/// Parses one of the words, to the letter. The problem of any other text suggests the word that was probably
/// meant, or lists all.
pub(super) fn parse_keyword<C: KeywordSetting>(text: &str) -> Result<C, ConfigProblem> {
    if let Some((_, choice)) = C::ALL.iter().find(|(word, _)| *word == text) {
        return Ok(*choice);
    }
    let words = C::ALL.iter().map(|(word, _)| *word);
    let hint = match nearest_name(text, words.clone()) {
        Some(word) => format!("did you mean \"{word}\"?"),
        None => format!("write {}", join_with_or(words.map(|word| format!("\"{word}\"")))),
    };
    Err(ConfigProblem::new(format!("is none of its {} values", C::ALL.len()), hint))
}

/// Returns the name that was probably meant by a misspelt one. Case and `-` for `_` do not count; up to a
/// third of the characters, and at most three, may be wrong. `None` if no name is that near, or the text is
/// longer than 40 characters.
pub(crate) fn nearest_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Nobody mistypes a name into one of twice its length.
    const MAX_NAME_CHARS: usize = 40;
    let length = name.chars().count();
    if length > MAX_NAME_CHARS {
        return None;
    }
    let name = name.to_lowercase().replace('-', "_");
    let far = |other: &str| strsim::damerau_levenshtein(&name, &other.to_lowercase().replace('-', "_"));
    let near = names.map(|other| (far(other), other)).filter(|(far, _)| *far <= length.div_ceil(3).min(3));
    near.min_by_key(|(far, _)| *far).map(|(_, other)| other)
}

/// Joins words for a sentence: `a`, `a or b`, `a, b or c`.
pub(super) fn join_with_or(words: impl Iterator<Item = String>) -> String {
    let mut words: Vec<String> = words.collect();
    let last = words.pop().unwrap_or_default();
    if words.is_empty() { last } else { format!("{} or {last}", words.join(", ")) }
}

/// Declares an enum whose variants are the words of a setting, with `as_str` and [`KeywordSetting`]. The
/// first variant is the default.
///
/// ```text
/// choices! {
///     /// How lines of the log are written.
///     pub LogFormat {
///         /// For people.
///         Text = "text",
///         /// For programs.
///         Json = "json",
///     }
/// }
/// ```
macro_rules! choices {
    ($(#[$doc:meta])* $vis:vis $name:ident { $(#[$first_doc:meta])* $first:ident = $first_word:literal, $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        $vis enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The word for it in a file.
            #[must_use]
            #[allow(dead_code, reason = "not every setting is printed")]
            $vis fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_word,
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl $crate::config::choice::KeywordSetting for $name {
            const ALL: &'static [(&'static str, Self)] =
                &[($first_word, Self::$first), $(($word, Self::$variant),)*];
        }
    };
}
pub(super) use choices;

#[cfg(test)]
mod tests {
    use super::*;

    choices! {
        /// A setting.
        Setting {
            /// The default.
            Pass = "pass",
            /// The other.
            Refuse = "refuse",
        }
    }

    #[test]
    fn reads_the_words_and_nothing_else() {
        assert_eq!(parse_keyword("pass"), Ok(Setting::default()));
        assert_eq!(parse_keyword("refuse"), Ok(Setting::Refuse));
        assert_eq!((Setting::Pass.as_str(), Setting::Refuse.as_str()), ("pass", "refuse"));
        for (text, hint) in [
            ("Pass", "did you mean \"pass\"?"),
            ("refuses", "did you mean \"refuse\"?"),
            ("", "write \"pass\" or \"refuse\""),
            ("drop", "write \"pass\" or \"refuse\""),
        ] {
            let problem = parse_keyword::<Setting>(text).unwrap_err();
            assert_eq!((&*problem.what, &*problem.hint), ("is none of its 2 values", hint), "{text}");
        }
    }

    #[test]
    fn finds_the_name_that_was_meant() {
        let names = ["listen", "admin", "allowed_hosts", "allowed_origins", "tls"];
        for (name, meant) in [
            ("lisen", Some("listen")),
            ("allowed-hosts", Some("allowed_hosts")),
            ("allowedHosts", Some("allowed_hosts")),
            ("TLS", Some("tls")),
            ("ssl", None),
            ("x", None),
            ("", None),
            (&"listen".repeat(999), None),
        ] {
            assert_eq!(nearest_name(name, names.into_iter()), meant, "{name}");
        }
    }
}
