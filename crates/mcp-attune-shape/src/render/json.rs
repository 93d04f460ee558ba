//! JSON in one line, spelled in one way: for what is too deep to be laid out.

use mcp_attune_wire::json::{JsonKind, JsonQuoted};

use super::clean;
use super::tree::ValueNode;

/// The value without white space, up to about so many bytes.
pub(super) fn line(value: ValueNode<'_>, most: usize) -> String {
    let mut out = String::new();
    write(value, most, &mut out);
    out
}

/// As deep as the text is, which the scanner has bounded.
fn write(value: ValueNode<'_>, most: usize, out: &mut String) {
    match value.kind() {
        _ if out.len() > most => {}
        JsonKind::Object => {
            out.push('{');
            for (at, (name, value)) in value.members().enumerate() {
                if at > 0 && out.len() <= most {
                    out.push(',');
                }
                if out.len() <= most {
                    out.push_str(&JsonQuoted(&clean::read(name)).to_string());
                    out.push(':');
                }
                write(value, most, out);
            }
            out.push('}');
        }
        JsonKind::Array => {
            out.push('[');
            for (at, value) in value.elements().enumerate() {
                if at > 0 && out.len() <= most {
                    out.push(',');
                }
                write(value, most, out);
            }
            out.push(']');
        }
        JsonKind::String => {
            let text = value.text().map(clean::read).unwrap_or_default();
            out.push_str(&JsonQuoted(&text).to_string());
        }
        JsonKind::Number => out.push_str(value.number().unwrap_or_default()),
        JsonKind::Boolean => out.push_str(if value.is_true() { "true" } else { "false" }),
        JsonKind::Null => out.push_str("null"),
    }
}
