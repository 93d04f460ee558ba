//! What the id of a task carries.

use super::VERSION;
use super::fields::{self, IdPayloadError, IdPayloadReader, put_bytes};

/// What the id of a task carries: the id that the server behind gave, and the tool that created it. No message about a task
/// names the tool, and what the operator wrote is written for one.
///
/// ```
/// use mcp_attune::session::TaskIdPayload;
///
/// let task = TaskIdPayload::new("786512e2", "get_weather").unwrap();
/// assert_eq!(TaskIdPayload::decode(&task.encode()), Ok(task));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TaskIdPayload {
    upstream: String,
    tool: String,
}

impl TaskIdPayload {
    /// The longest id of a server that can be carried: it travels in a header.
    pub const MAX_TASK_ID_BYTES: usize = 1024;
    /// The longest name of a tool that can be carried.
    pub const MAX_TOOL_NAME_BYTES: usize = 256;
    /// As many bytes as an encoded task can have.
    pub const MAX_LEN: usize = 1 + 2 + Self::MAX_TASK_ID_BYTES + 2 + Self::MAX_TOOL_NAME_BYTES;

    /// A task, unless the server's id or the name of the tool is too long.
    #[must_use]
    pub fn new(upstream: &str, tool: &str) -> Option<Self> {
        let fits = upstream.len() <= Self::MAX_TASK_ID_BYTES && tool.len() <= Self::MAX_TOOL_NAME_BYTES;
        fits.then(|| Self { upstream: upstream.to_owned(), tool: tool.to_owned() })
    }

    /// The id that the server behind gave.
    #[must_use]
    pub fn upstream(&self) -> &str {
        &self.upstream
    }

    /// The tool that created it.
    #[must_use]
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// The task as bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        put_bytes(&mut out, self.upstream.as_bytes());
        put_bytes(&mut out, self.tool.as_bytes());
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`IdPayloadError`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, IdPayloadError> {
        let mut reader = IdPayloadReader::new(bytes);
        reader.version(VERSION)?;
        let upstream = fields::utf8_text(reader.bytes(Self::MAX_TASK_ID_BYTES)?)?.to_owned();
        let tool = fields::utf8_text(reader.bytes(Self::MAX_TOOL_NAME_BYTES)?)?.to_owned();
        reader.end()?;
        Ok(Self { upstream, tool })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_written_in_few_bytes_and_read_strictly() {
        let task = TaskIdPayload::new("ab", "t").unwrap();
        assert_eq!(task.encode(), b"\x01\x00\x02ab\x00\x01t");
        for (bytes, broken) in [
            (&b""[..], IdPayloadError::Short),
            (b"\x02\x00\x02ab\x00\x01t", IdPayloadError::Version),
            (b"\x01\x00\x02ab\x00\x01", IdPayloadError::Short),
            (b"\x01\x04\x01", IdPayloadError::Long),
            (b"\x01\x00\x00\x01\x01", IdPayloadError::Long),
            (b"\x01\x00\x01\xff\x00\x01t", IdPayloadError::Text),
            (b"\x01\x00\x02ab\x00\x01tx", IdPayloadError::Rest),
        ] {
            assert_eq!(TaskIdPayload::decode(bytes), Err(broken), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_carried() {
        let (id, tool) =
            ("a".repeat(TaskIdPayload::MAX_TASK_ID_BYTES), "t".repeat(TaskIdPayload::MAX_TOOL_NAME_BYTES));
        let task = TaskIdPayload::new(&id, &tool).unwrap();
        assert_eq!(task.encode().len(), TaskIdPayload::MAX_LEN);
        assert_eq!(TaskIdPayload::decode(&task.encode()), Ok(task));
        assert_eq!(TaskIdPayload::new(&format!("{id}a"), &tool), None);
        assert_eq!(TaskIdPayload::new(&id, &format!("{tool}t")), None);
    }
}
