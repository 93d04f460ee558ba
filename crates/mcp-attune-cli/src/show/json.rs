//! JSON with every token as it was written, on lines of its own.

use std::iter::Peekable;
use std::str::Chars;

use mcp_attune_wire::text::is_disruptive;

use super::plain;
use crate::paint::{Paint, PaintStyle};

/// Indents a JSON text: names, strings and numbers stay to the letter, and so does their order. For a terminal, what it
/// would obey is escaped as JSON escapes it.
pub(crate) fn indented(json: &str, terminal: bool, paint: Paint) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
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
            first => token(&mut out, first, &mut chars, terminal, paint),
        }
    }
    out
}

/// A JSON text as it stands, in colours. Without them it is the same to the letter.
pub(crate) fn coloured(json: &str, paint: Paint) -> String {
    let json = plain::lines(json);
    if !paint.is_on() {
        return json;
    }
    let mut out = String::with_capacity(json.len() * 2);
    let mut chars = json.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '{' | '}' | '[' | ']' | ',' | ':' | ' ' | '\t' | '\n' => out.push(char),
            first => token(&mut out, first, &mut chars, false, paint),
        }
    }
    out
}

/// A string, a number or a word, from its first character on.
fn token(out: &mut String, first: char, chars: &mut Peekable<Chars<'_>>, terminal: bool, paint: Paint) {
    let mut token = String::new();
    push(&mut token, first, terminal);
    let style = if first == '"' {
        rest_of_string(&mut token, chars, terminal);
        let mut ahead = chars.clone();
        let is_name = ahead.find(|char| !char.is_ascii_whitespace()) == Some(':');
        if is_name { PaintStyle::Member } else { PaintStyle::Text }
    } else {
        let inside =
            |char: &char| !matches!(char, '{' | '}' | '[' | ']' | ',' | ':' | '"') && !char.is_whitespace();
        while let Some(char) = chars.next_if(inside) {
            push(&mut token, char, terminal);
        }
        PaintStyle::Literal
    };
    out.push_str(&paint.paint(style, &token));
}

fn rest_of_string(out: &mut String, chars: &mut impl Iterator<Item = char>, terminal: bool) {
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
    if terminal && is_disruptive(char) {
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
        insta::assert_snapshot!(indented(json, false, Paint::default()), @r#"
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
        let shown = indented(json, true, Paint::default());
        assert_eq!(shown, "[\n  \"\\u009b2J \\u202e \\udb40\\udc41\"\n]");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(read(&shown), read(json));
        assert_eq!(indented(json, false, Paint::default()), "[\n  \"\u{9b}2J \u{202e} \u{e0041}\"\n]");
    }

    #[test]
    fn colours_tell_names_from_values_and_change_no_letter() {
        let json = r#"{"a": ["b", 1.0, null]}"#;
        let painted = coloured(json, Paint::new(true));
        let on = |style: PaintStyle, text: &str| Paint::new(true).paint(style, text);
        let expected = format!(
            "{{{}: [{}, {}, {}]}}",
            on(PaintStyle::Member, "\"a\""),
            on(PaintStyle::Text, "\"b\""),
            on(PaintStyle::Literal, "1.0"),
            on(PaintStyle::Literal, "null")
        );
        assert_eq!(painted, expected);
        assert_eq!(coloured(json, Paint::default()), json);
        assert_eq!(indented(json, true, Paint::new(true)).matches('\u{1b}').count(), 8);
    }
}
