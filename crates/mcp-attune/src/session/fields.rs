//! Bytes behind their length, and reading them back without trusting any.

use std::fmt;

/// Why bytes are none that were written here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum IdPayloadError {
    /// The first byte names no version that is known.
    Version,
    /// They end too soon.
    Short,
    /// A length or a count is out of its bounds.
    Long,
    /// What says whether something is there says neither yes nor no.
    Flag,
    /// What should be text is no UTF-8.
    Text,
    /// They go on where they should end.
    Rest,
}

impl fmt::Display for IdPayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "is of a version that is not known",
            Self::Short => "ends too soon",
            Self::Long => "has a part of a length that it cannot have",
            Self::Flag => "does not say whether a part is there",
            Self::Text => "has a text that is no UTF-8",
            Self::Rest => "goes on after its end",
        })
    }
}

impl std::error::Error for IdPayloadError {}

/// Writes a length and the bytes. Every type bounds its parts far below 64 KiB before it writes them.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend(bytes.iter().take(length.into()));
}

/// Writes whether there is something, and that.
pub(super) fn put_optional(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    out.push(bytes.is_some().into());
    if let Some(bytes) = bytes {
        put_bytes(out, bytes);
    }
}

pub(super) fn utf8_text(bytes: &[u8]) -> Result<&str, IdPayloadError> {
    std::str::from_utf8(bytes).map_err(|_| IdPayloadError::Text)
}

/// Takes bytes from the front.
pub(super) struct IdPayloadReader<'b> {
    rest: &'b [u8],
}

impl<'b> IdPayloadReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(super) fn version(&mut self, known: u8) -> Result<(), IdPayloadError> {
        if self.byte()? == known { Ok(()) } else { Err(IdPayloadError::Version) }
    }

    pub(super) fn byte(&mut self) -> Result<u8, IdPayloadError> {
        let (first, rest) = self.rest.split_first().ok_or(IdPayloadError::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    /// What [`put_bytes`] wrote.
    pub(super) fn bytes(&mut self, most: usize) -> Result<&'b [u8], IdPayloadError> {
        let length = usize::from(u16::from_be_bytes([self.byte()?, self.byte()?]));
        if length > most {
            return Err(IdPayloadError::Long);
        }
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(IdPayloadError::Short)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// What [`put_optional`] wrote.
    pub(super) fn optional(&mut self, most: usize) -> Result<Option<&'b [u8]>, IdPayloadError> {
        match self.byte()? {
            0 => Ok(None),
            1 => self.bytes(most).map(Some),
            _ => Err(IdPayloadError::Flag),
        }
    }

    pub(super) fn end(self) -> Result<(), IdPayloadError> {
        if self.rest.is_empty() { Ok(()) } else { Err(IdPayloadError::Rest) }
    }
}
