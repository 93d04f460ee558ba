//! The chunks of a request's body, followed to their end.

use bytes::{Buf, Bytes, BytesMut};

use super::head::parse_header_line;

/// The number of trailers that are read at most.
const MAX_TRAILERS: usize = 64;
/// The length of the longest trailer.
const MAX_TRAILER_BYTES: usize = 4 * 1024;

/// Follows a chunked body. The states are those of hyper, so that both are always in the same one.
#[derive(Debug, Default)]
pub(super) struct ChunkFollower {
    state: FollowState,
    /// The size of the chunk, or how much is left of it.
    size: u64,
    trailers: usize,
    /// The trailer that is being read.
    line: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum FollowState {
    #[default]
    Start,
    Size,
    SizeSpace,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    Trailer,
}

/// Where following a body ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ChunkFollowOutcome {
    /// At the end of what was read.
    NeedsMore,
    /// At the end of the body.
    End,
    /// At a malformed chunk.
    BadChunk,
    /// At a malformed trailer.
    BadTrailer,
}

impl ChunkFollower {
    /// Follows what was read, and appends to `passed` what may be read of it: all but the trailers.
    pub(super) fn follow(&mut self, read: &mut Bytes, passed: &mut BytesMut) -> ChunkFollowOutcome {
        while let Some(byte) = read.first().copied() {
            if self.state == FollowState::Data {
                let size = usize::try_from(self.size).map_or(read.len(), |left| left.min(read.len()));
                passed.extend_from_slice(&read.split_to(size));
                self.size -= size as u64;
                if self.size == 0 {
                    self.state = FollowState::DataCr;
                }
                continue;
            }
            read.advance(1);
            if self.state == FollowState::Trailer {
                let Some(ended) = self.feed_trailer_byte(byte) else { continue };
                passed.extend_from_slice(b"\r\n");
                return ended;
            }
            passed.extend_from_slice(&[byte]);
            let Some(next) = self.next_state(byte) else { return ChunkFollowOutcome::BadChunk };
            self.state = next;
        }
        ChunkFollowOutcome::NeedsMore
    }

    /// Returns the state after a byte that is neither data nor in a trailer, or `None` where the byte may not stand there.
    fn next_state(&mut self, byte: u8) -> Option<FollowState> {
        Some(match (self.state, byte) {
            (FollowState::Start | FollowState::Size, byte) if byte.is_ascii_hexdigit() => {
                if self.state == FollowState::Start {
                    self.size = 0;
                }
                let digit = char::from(byte).to_digit(16)?;
                self.size = self.size.checked_mul(16)?.checked_add(u64::from(digit))?;
                FollowState::Size
            }
            (FollowState::Size | FollowState::SizeSpace, b' ' | b'\t') => FollowState::SizeSpace,
            (FollowState::Size | FollowState::SizeSpace, b';') => FollowState::Extension,
            (FollowState::Size | FollowState::SizeSpace | FollowState::Extension, b'\r') => {
                FollowState::SizeLf
            }
            (FollowState::Extension, byte) if byte != b'\n' => FollowState::Extension,
            (FollowState::SizeLf, b'\n') if self.size == 0 => FollowState::Trailer,
            (FollowState::SizeLf, b'\n') => FollowState::Data,
            (FollowState::DataCr, b'\r') => FollowState::DataLf,
            (FollowState::DataLf, b'\n') => FollowState::Start,
            _ => return None,
        })
    }

    /// Takes a byte after the last chunk. Returns where the body ends with it, or is malformed.
    fn feed_trailer_byte(&mut self, byte: u8) -> Option<ChunkFollowOutcome> {
        if byte != b'\n' {
            self.line.push(byte);
            return (self.line.len() > MAX_TRAILER_BYTES).then_some(ChunkFollowOutcome::BadTrailer);
        }
        let line = std::mem::take(&mut self.line);
        // LF alone would hide a line from readers that take only CR LF for a line end.
        let Some(line) = line.strip_suffix(b"\r") else { return Some(ChunkFollowOutcome::BadTrailer) };
        if line.is_empty() {
            return Some(ChunkFollowOutcome::End);
        }
        self.trailers += 1;
        (self.trailers > MAX_TRAILERS || parse_header_line(line).is_none())
            .then_some(ChunkFollowOutcome::BadTrailer)
    }
}
