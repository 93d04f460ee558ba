//! What the id of a task carries.

use super::VERSION;
use super::fields::{self, Broken, Reader, put};

/// What the id of a task carries: the id that the server behind gave, and the tool that created it. No message about a task
/// names the tool, and what the operator wrote is written for one.
///
/// ```
/// use mcp_attune::session::Task;
///
/// let task = Task::new("786512e2", "get_weather").unwrap();
/// assert_eq!(Task::decode(&task.encode()), Ok(task));
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    upstream: String,
    tool: String,
}

impl Task {
    /// The longest id of a server that can be carried: it travels in a header.
    pub const MAX_UPSTREAM: usize = 1024;
    /// The longest name of a tool that can be carried.
    pub const MAX_TOOL: usize = 256;
    /// As many bytes as an encoded task can have.
    pub const MAX_LEN: usize = 1 + 2 + Self::MAX_UPSTREAM + 2 + Self::MAX_TOOL;

    /// A task, unless the server's id or the name of the tool is too long.
    #[must_use]
    pub fn new(upstream: &str, tool: &str) -> Option<Self> {
        let fits = upstream.len() <= Self::MAX_UPSTREAM && tool.len() <= Self::MAX_TOOL;
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
        put(&mut out, self.upstream.as_bytes());
        put(&mut out, self.tool.as_bytes());
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`Broken`], where it did not write that.
    pub fn decode(bytes: &[u8]) -> Result<Self, Broken> {
        let mut reader = Reader::new(bytes);
        reader.version(VERSION)?;
        let upstream = fields::text(reader.bytes(Self::MAX_UPSTREAM)?)?.to_owned();
        let tool = fields::text(reader.bytes(Self::MAX_TOOL)?)?.to_owned();
        reader.end()?;
        Ok(Self { upstream, tool })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_written_in_few_bytes_and_read_strictly() {
        let task = Task::new("ab", "t").unwrap();
        assert_eq!(task.encode(), b"\x01\x00\x02ab\x00\x01t");
        for (bytes, broken) in [
            (&b""[..], Broken::Short),
            (b"\x02\x00\x02ab\x00\x01t", Broken::Version),
            (b"\x01\x00\x02ab\x00\x01", Broken::Short),
            (b"\x01\x04\x01", Broken::Long),
            (b"\x01\x00\x00\x01\x01", Broken::Long),
            (b"\x01\x00\x01\xff\x00\x01t", Broken::Text),
            (b"\x01\x00\x02ab\x00\x01tx", Broken::Rest),
        ] {
            assert_eq!(Task::decode(bytes), Err(broken), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_too_long_is_not_carried() {
        let (id, tool) = ("a".repeat(Task::MAX_UPSTREAM), "t".repeat(Task::MAX_TOOL));
        let task = Task::new(&id, &tool).unwrap();
        assert_eq!(task.encode().len(), Task::MAX_LEN);
        assert_eq!(Task::decode(&task.encode()), Ok(task));
        assert_eq!(Task::new(&format!("{id}a"), &tool), None);
        assert_eq!(Task::new(&id, &format!("{tool}t")), None);
    }
}
