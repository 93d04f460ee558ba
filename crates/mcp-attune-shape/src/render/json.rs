//! Writes a value as JSON on one line, in one normalized spelling: the form of data that are nested too
//! deeply to be laid out.

use mcp_attune_wire::json::{JsonKind, JsonQuoted};

use super::clean;
use super::tree::ValueNode;

/// Returns the value as JSON without white space, with its strings cleaned of control characters.
///
/// Stops adding values once the text is longer than `most` bytes. The text may exceed that by one
/// string and the closing brackets, and lacks members then; the caller truncates it to its room.
pub(super) fn line(value: ValueNode<'_>, most: usize) -> String {
    let mut out = String::new();
    write(value, most, &mut out);
    out
}

/// Appends a value. Recurses as deep as the data are nested, which the JSON scanner limited before.
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
