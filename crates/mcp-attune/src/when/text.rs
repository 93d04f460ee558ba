//! Letters as they are compared.

/// Small letters without accents, with one blank between words: what stands in a text and what stands in a table
/// become the same.
pub(super) fn normalize(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            // Apostrophes too: `l'année` is two words, however they are written.
            '_' | '\'' | '’' | 'ʼ' => push_blank(&mut plain),
            // Between words only: `last -3 days` is something else.
            '-' | '\u{2010}' | '\u{2011}' if !plain.is_empty() && !plain.ends_with(' ') => {
                push_blank(&mut plain);
            }
            _ if letter.is_whitespace() => push_blank(&mut plain),
            // Accents that follow their letter.
            '\u{300}'..='\u{36f}' => {}
            'ß' => plain.push_str("ss"),
            '０'..='９' => plain.push(wide_digit(letter)),
            _ => plain.push(strip_accent(letter)),
        }
    }
    if plain.ends_with(' ') {
        plain.pop();
    }
    plain
}

fn push_blank(text: &mut String) {
    if !text.is_empty() && !text.ends_with(' ') {
        text.push(' ');
    }
}

fn wide_digit(letter: char) -> char {
    char::from_u32(u32::from(letter) - u32::from('０') + u32::from('0')).unwrap_or(letter)
}

/// The letter without its accent, for the languages of the tables.
fn strip_accent(letter: char) -> char {
    match letter {
        'à' | 'á' | 'â' | 'ã' | 'ä' => 'a',
        'ç' => 'c',
        'è' | 'é' | 'ê' | 'ë' => 'e',
        'ì' | 'í' | 'î' | 'ï' => 'i',
        'ñ' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' => 'o',
        'ù' | 'ú' | 'û' | 'ü' => 'u',
        _ => letter,
    }
}

/// German letters as they are written where there are none: `nächste`, `naechste`.
pub(super) fn transliterate_umlauts(text: &str) -> Option<String> {
    let pairs = [("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "Ae"), ("Ö", "Oe"), ("Ü", "Ue")];
    let out = pairs.iter().fold(text.to_owned(), |text, (letter, letters)| text.replace(letter, letters));
    (out != text).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_accents_and_what_stands_between_words_mean_nothing() {
        for text in [
            "l'année dernière",
            "L’ANNÉE  DERNIÈRE",
            " l_annee-derniere ",
            "l'anne\u{301}e\u{a0}dernie\u{300}re",
        ] {
            assert_eq!(normalize(text), "l annee derniere", "{text}");
        }
        assert_eq!(normalize("過去７\u{3000}日間"), "過去7 日間");
        assert_eq!(normalize(" _' "), "");
        assert_eq!(normalize("last -3 days"), "last -3 days");
        assert_eq!(normalize("Dreißig"), "dreissig");
    }
}
