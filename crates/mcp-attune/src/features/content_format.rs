//! The formats that a caller can ask for, one row each.
//!
//! Whatever depends on the format alone is a fact in its row, and is asked for by its method. How a format is
//! written is known to `mcp-attune-shape`, whose table has to have a row for it too before it compiles.

use core::fmt;

/// Makes [`ContentFormat`] from its rows, so that no list of formats can miss one.
macro_rules! content_formats {
    ($($(#[$doc:meta])* $format:ident { $($fact:ident: $value:expr,)+ })+) => {
        /// How the data of an answer is written.
        ///
        /// Rules: F5, F6, F7.
        ///
        /// ```
        /// use mcp_attune::features::ContentFormat;
        ///
        /// assert_eq!(ContentFormat::Markdown.to_string(), "markdown");
        /// assert!(ContentFormat::Json.is_structured() && !ContentFormat::Text.is_structured());
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ContentFormat {
            $($(#[$doc])* $format,)+
        }

        impl ContentFormat {
            /// All of them.
            pub const ALL: [Self; [$(Self::$format),+].len()] = [$(Self::$format),+];

            const fn facts(self) -> FormatFacts {
                match self {
                    $(Self::$format => FormatFacts { $($fact: $value,)+ },)+
                }
            }
        }
    };
}

struct FormatFacts {
    /// The tag that asks for it.
    tag: &'static str,
    /// What it is called in a sentence.
    noun: &'static str,
    /// The end of the names of templates that write it.
    extension: &'static str,
    media_type: &'static str,
    structured: bool,
    /// What the tag does, in a sentence for those who write clients.
    effect: &'static str,
    /// The rule that says so.
    rule: &'static str,
}

content_formats! {
    /// Structured content.
    Json {
        tag: "format=json",
        noun: "JSON",
        extension: "json",
        media_type: "application/json",
        structured: true,
        effect: "results come once, as structured content; text blocks go, blocks of other kinds stay. A single text block \
                 that is JSON becomes the structured content. JSON resources stay JSON; prose stays as it is",
        rule: "F5",
    }
    /// Text with markup, for people.
    Markdown {
        tag: "format=markdown",
        noun: "Markdown",
        extension: "md",
        media_type: "text/markdown",
        structured: false,
        effect: "results with data come as Markdown, in the reader's locale and time zone, without structured content, and \
                 listings without outputSchema. JSON and HTML resources become Markdown; prose stays as it is",
        rule: "F6",
    }
    /// Text without markup.
    Text {
        tag: "format=text",
        noun: "plain text",
        extension: "txt",
        media_type: "text/plain",
        structured: false,
        effect: "results with data come as plain text, in the reader's locale and time zone, without structured content, and \
                 listings without outputSchema. JSON, HTML and Markdown resources become plain text; prose stays as it is",
        rule: "F7",
    }
}

impl ContentFormat {
    /// The key of the tags that ask for a format.
    pub(super) const KEY: &'static str = "format";

    /// Its name in a tag.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.tag().strip_prefix(Self::KEY).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default()
    }

    /// The tag that asks for it: `format=markdown`.
    #[must_use]
    pub const fn tag(self) -> &'static str {
        self.facts().tag
    }

    /// What it is called in a sentence: `plain text`.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        self.facts().noun
    }

    /// The end of the names of files in this format, which is also that of templates: `md`.
    #[must_use]
    pub const fn extension(self) -> &'static str {
        self.facts().extension
    }

    /// The media type of a text in this format.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        self.facts().media_type
    }

    /// Whether it is the structured content of a result. All other formats are text for people, in place of the
    /// structured content.
    ///
    /// Rules: F5, F13.
    #[must_use]
    pub const fn is_structured(self) -> bool {
        self.facts().structured
    }

    pub(super) const fn effect(self) -> (&'static str, &'static str) {
        let FormatFacts { effect, rule, .. } = self.facts();
        (effect, rule)
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for ContentFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_name_and_an_ending_of_its_own() {
        for (at, format) in ContentFormat::ALL.into_iter().enumerate() {
            assert_eq!(format as usize, at);
            assert_eq!(ContentFormat::named(format.name()), Some(format));
            assert_eq!(format.tag(), format!("format={format}"));
            let same = ContentFormat::ALL.into_iter().filter(|other| other.extension() == format.extension());
            assert_eq!(same.count(), 1, "{format}");
        }
    }
}
