//! Text formats of the official schemas, exactly as strict as the official tool.
//!
//! A difference in either direction would give authors a wrong verdict, so quirks are reproduced too.

use crate::LocalePath;
use crate::problem::ManifestTextFormat;

impl ManifestTextFormat {
    /// Returns whether a text has this format.
    pub(super) fn fits(self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::NotEmpty => !text.is_empty(),
            // The URL standard, as browsers and Node.js have it.
            Self::Url => url::Url::parse(text).is_ok(),
            Self::Email => is_email(text),
            Self::Placeholder => text.to_ascii_lowercase().contains(LocalePath::PLACEHOLDER),
            Self::Locale => is_locale(text),
            Self::Size => {
                text.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
            }
        }
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text consists of subtags of ASCII letters and digits, joined by `-`: the first with two to
/// eight characters, the others with one to eight.
fn is_locale(text: &str) -> bool {
    let mut least = 2;
    text.split('-').all(|subtag| {
        let fits =
            (least..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| byte.is_ascii_alphanumeric());
        least = 1;
        fits
    })
}

/// Returns whether a text is an e-mail address for the official tool.
///
/// Before the `@`: letters, digits and `_'+-.`, with no dot at the beginning, at the end or twice in a row, and
/// no `'` at the end. After it: at least two labels that begin with a letter or a digit, of which the last has
/// only letters, at least two.
fn is_email(text: &str) -> bool {
    let Some((before, domain)) = text.split_once('@') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'+' | b'-');
    let local = before.bytes().all(|byte| plain(byte) || matches!(byte, b'\'' | b'.'))
        && before.bytes().next_back().is_some_and(plain)
        && !before.starts_with('.')
        && !text.contains("..");
    let Some((labels, last)) = domain.rsplit_once('.') else { return false };
    let label = |label: &str| {
        label.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    local
        && labels.split('.').all(label)
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(format: ManifestTextFormat, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(format.fits(text), "{format:?} {text:?}");
        }
        for text in bad {
            assert!(!format.fits(text), "{format:?} {text:?}");
        }
    }

    #[test]
    fn formats_are_as_strict_as_the_official_ones() {
        check(
            ManifestTextFormat::Email,
            &["a@b.co", "A.b+c'd-@x-.y-z.ORG", "_@1.aa", "a.'b@c.de"],
            &[
                "",
                "a",
                "@b.co",
                ".a@b.co",
                "a.@b.co",
                "a..b@c.de",
                "a'@b.co",
                "a@b",
                "a@-b.co",
                "a@b.c",
                "a@b.c1",
                "a@b..co",
                "a@@b.co",
                "ä@b.co",
                "a b@c.de",
                "a@b.co\n",
            ],
        );
        check(
            ManifestTextFormat::Locale,
            &["en", "en-US", "12", "zh-Hans-1", "a1-b"],
            &["", "e", "en_US", "en-", "-en", "abcdefghi", "en-abcdefghi", "é1"],
        );
        check(
            ManifestTextFormat::Size,
            &["16x16", "0x0", "99999999999999999999x1"],
            &["", "x", "16X16", "16x", "16x16 ", "+1x1", "16x16x16", "١x١"],
        );
        check(
            ManifestTextFormat::Url,
            &["https://example.com", "mailto:x", "a:", "HTTP://x/ y", " https://x "],
            &["", "example.com", "//x", "http://", "https://[", "https://a b"],
        );
        check(
            ManifestTextFormat::Placeholder,
            &["${locale}", "a${LoCaLe}b${locale}"],
            &["", "$locale", "${ locale}", "${locale"],
        );
        check(ManifestTextFormat::NotEmpty, &[" "], &[""]);
    }
}
