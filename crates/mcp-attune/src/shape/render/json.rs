//! JSON in one line, spelled in one way: for what is too deep to be laid out.

use mcp_attune_wire::json::{Quoted, Type, Value, Walk};

use super::clean;

/// The value without white space, up to about so many bytes.
pub(super) fn line(value: Value<'_>, most: usize) -> String {
    let mut out = String::new();
    write(&mut value.walk(), most, &mut out);
    out
}

/// As deep as the text is, which the scanner has bounded.
fn write(walk: &mut Walk<'_>, most: usize, out: &mut String) {
    match walk.kind() {
        _ if out.len() > most => {
            walk.value();
        }
        Type::Object => {
            out.push('{');
            let mut first = true;
            walk.members(|name, walk| {
                if !std::mem::take(&mut first) && out.len() <= most {
                    out.push(',');
                }
                if out.len() <= most {
                    out.push_str(&Quoted(&clean::read(name)).to_string());
                    out.push(':');
                }
                write(walk, most, out);
            });
            out.push('}');
        }
        Type::Array => {
            out.push('[');
            let mut first = true;
            walk.elements(|walk| {
                if !std::mem::take(&mut first) && out.len() <= most {
                    out.push(',');
                }
                write(walk, most, out);
            });
            out.push(']');
        }
        _ => {
            let value = walk.value();
            match value.text() {
                Some(text) => out.push_str(&Quoted(&clean::read(text)).to_string()),
                None => out.push_str(value.raw()),
            }
        }
    }
}
