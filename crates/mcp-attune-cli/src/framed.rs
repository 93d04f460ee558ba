//! Results by themselves, made into messages that the strict reader takes.

/// A result as it came, with a frame around it, to be read as a message.
pub(crate) fn framed(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#)
}
