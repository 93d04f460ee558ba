//! How large a head may be.

/// The size of the largest head that is read, in bytes.
pub const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The number of header lines, or of trailers, that are read at most.
pub const MAX_HEADER_LINES: usize = 128;

/// How large the head of a request may be.
///
/// ```
/// use mcp_attune_http1::{HeadLimits, MAX_HEADER_LINES};
///
/// assert_eq!(HeadLimits::default().lines, MAX_HEADER_LINES);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeadLimits {
    /// Header lines, without the request line.
    pub lines: usize,
    /// Bytes, from the request line to the empty line.
    pub bytes: usize,
}

impl Default for HeadLimits {
    fn default() -> Self {
        Self { lines: MAX_HEADER_LINES, bytes: MAX_HEAD_BYTES }
    }
}
