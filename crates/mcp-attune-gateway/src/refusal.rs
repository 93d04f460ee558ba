//! Answers of the gateway itself, before any message was read.

pub(crate) use mcp_attune_tower::{answer, answer_to};

/// A value of the caller's, fit to be shown: short, and what is not printable ASCII as `?`.
pub(crate) fn shown(value: &[u8]) -> String {
    const MOST: usize = 80;
    let char = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' };
    let mut text: String = value.iter().take(MOST).map(char).collect();
    if value.len() > MOST {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::reply::Reply;

    #[test]
    fn is_json_whatever_a_caller_sent() {
        let value: Vec<u8> = (0..=255).chain(*b"\"}\\").collect();
        for value in value.chunks(64).chain([&value[..]]) {
            let text = Reply::not_taken(403, "H15", &shown(value)).body;
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["error"]["code"], -32600);
            assert!(read.get("id").is_none());
            assert!(text.len() < 200, "{text}");
        }
    }
}
