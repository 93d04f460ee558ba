//! JSON with every token as it was written, on lines of its own.

use super::plain::is_unsafe;

/// Indents a JSON text: names, strings and numbers stay to the letter, and so does their order. For a terminal, what it
/// would obey is escaped as JSON escapes it.
pub(crate) fn indented(json: &str, terminal: bool) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '"' => string(&mut out, &mut chars, terminal),
            '{' | '[' => {
                out.push(char);
                while chars.next_if(char::is_ascii_whitespace).is_some() {}
                match chars.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => out.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut out, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(char);
            }
            ',' => {
                out.push(',');
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            ' ' | '\t' | '\n' | '\r' => {}
            other => push(&mut out, other, terminal),
        }
    }
    out
}

fn string(out: &mut String, chars: &mut impl Iterator<Item = char>, terminal: bool) {
    out.push('"');
    let mut escaped = false;
    for char in chars {
        push(out, char, terminal);
        match char {
            '"' if !escaped => return,
            _ => escaped = char == '\\' && !escaped,
        }
    }
}

fn push(out: &mut String, char: char, terminal: bool) {
    if terminal && is_unsafe(char) {
        for unit in char.encode_utf16(&mut [0; 2]) {
            out.push_str(&format!("\\u{unit:04x}"));
        }
    } else {
        out.push(char);
    }
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_stay_as_they_were_written() {
        let json = r#"{ "z":1.0,"a":[ ], "b\"\\":{"c":[1e400,"\u00e9, {x}"]} }"#;
        insta::assert_snapshot!(indented(json, false), @r#"
        {
          "z": 1.0,
          "a": [],
          "b\"\\": {
            "c": [
              1e400,
              "\u00e9, {x}"
            ]
          }
        }
        "#);
    }

    #[test]
    fn a_terminal_gets_the_same_value_and_nothing_to_obey() {
        let json = "[\"\u{9b}2J \u{202e} \u{e0041}\"]";
        let shown = indented(json, true);
        assert_eq!(shown, "[\n  \"\\u009b2J \\u202e \\udb40\\udc41\"\n]");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(json));
        assert_eq!(indented(json, false), "[\n  \"\u{9b}2J \u{202e} \u{e0041}\"\n]");
    }
}
