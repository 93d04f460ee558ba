//! A body in chunks, followed to its end.

use bytes::{Buf, Bytes, BytesMut};

use super::head::header_line;

/// How many trailers there may be, and how long one may be.
const MAX_TRAILERS: usize = 64;
const MAX_TRAILER_BYTES: usize = 4 * 1024;

/// Where in a body the next byte is. The states are hyper's own, so that both are always in the same one.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    state: ChunkState,
    /// The size of the chunk, or how much is left of it.
    size: u64,
    trailers: usize,
    /// The trailer that is being read.
    line: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum ChunkState {
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

/// How far a body was followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Followed {
    /// To the end of what was read.
    More,
    /// To its own end.
    End,
    /// To something that is no chunk.
    NoChunk,
    /// To something that is no trailer.
    Refused,
}

impl Chunks {
    /// Follows what was read, and puts what hyper is to read of it into `checked`: all but the trailers.
    pub(super) fn follow(&mut self, read: &mut Bytes, checked: &mut BytesMut) -> Followed {
        while let Some(byte) = read.first().copied() {
            if self.state == ChunkState::Data {
                let size = usize::try_from(self.size).map_or(read.len(), |left| left.min(read.len()));
                checked.extend_from_slice(&read.split_to(size));
                self.size -= size as u64;
                if self.size == 0 {
                    self.state = ChunkState::DataCr;
                }
                continue;
            }
            read.advance(1);
            if self.state == ChunkState::Trailer {
                let Some(ended) = self.trailer(byte) else { continue };
                checked.extend_from_slice(b"\r\n");
                return ended;
            }
            checked.extend_from_slice(&[byte]);
            let Some(next) = self.next(byte) else { return Followed::NoChunk };
            self.state = next;
        }
        Followed::More
    }

    /// The state after a byte that is neither data nor in a trailer; None where it may not stand there.
    fn next(&mut self, byte: u8) -> Option<ChunkState> {
        Some(match (self.state, byte) {
            (ChunkState::Start | ChunkState::Size, byte) if byte.is_ascii_hexdigit() => {
                if self.state == ChunkState::Start {
                    self.size = 0;
                }
                let digit = char::from(byte).to_digit(16)?;
                self.size = self.size.checked_mul(16)?.checked_add(u64::from(digit))?;
                ChunkState::Size
            }
            (ChunkState::Size | ChunkState::SizeSpace, b' ' | b'\t') => ChunkState::SizeSpace,
            (ChunkState::Size | ChunkState::SizeSpace, b';') => ChunkState::Extension,
            (ChunkState::Size | ChunkState::SizeSpace | ChunkState::Extension, b'\r') => ChunkState::SizeLf,
            (ChunkState::Extension, byte) if byte != b'\n' => ChunkState::Extension,
            (ChunkState::SizeLf, b'\n') if self.size == 0 => ChunkState::Trailer,
            (ChunkState::SizeLf, b'\n') => ChunkState::Data,
            (ChunkState::DataCr, b'\r') => ChunkState::DataLf,
            (ChunkState::DataLf, b'\n') => ChunkState::Start,
            _ => return None,
        })
    }

    /// Takes a byte after the last chunk; says so where the body has ended with it, or cannot.
    fn trailer(&mut self, byte: u8) -> Option<Followed> {
        if byte != b'\n' {
            self.line.push(byte);
            return (self.line.len() > MAX_TRAILER_BYTES).then_some(Followed::Refused);
        }
        let line = std::mem::take(&mut self.line);
        // A line ends with both: one of them alone would hide what follows from those who read otherwise.
        let Some(line) = line.strip_suffix(b"\r") else { return Some(Followed::Refused) };
        if line.is_empty() {
            return Some(Followed::End);
        }
        self.trailers += 1;
        (self.trailers > MAX_TRAILERS || header_line(line).is_none()).then_some(Followed::Refused)
    }
}
