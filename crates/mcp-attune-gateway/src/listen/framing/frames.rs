//! Counts the control frames of HTTP/2 against what else moves on a connection.
//!
//! Each control frame costs the gateway about as much as a request, and asks for nothing. So a connection has
//! a budget of them, which grows with time, with requests and bodies that come in, and with answers that go
//! out. A connection without budget is cut.

use std::io;

use tokio::time::Instant;

/// The length of a frame's header: its length in three bytes, its type, its flags, its stream.
const FRAME_HEADER: usize = 9;
/// What is left of the client's preface (`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`) after the part that looks like a
/// request.
const PREFACE_REST: usize = b"SM\r\n\r\n".len();
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// The budget at the start, and its maximum, in frames.
const MAX_CREDIT: u64 = 2000;
/// How many frames each second adds,
const CREDIT_PER_SECOND: u64 = 50;
/// each frame of a request's head or body,
const CREDIT_PER_FRAME: u64 = 2;
/// and each so many bytes that we send: callers acknowledge what they have read with `WINDOW_UPDATE`.
const BYTES_PER_CREDIT: u64 = 2048;

/// The budget of control frames (`SETTINGS`, `PING`, `WINDOW_UPDATE`, `PRIORITY`, `RST_STREAM` and unknown
/// ones) of a connection. It follows the frames in the byte stream by their lengths, and understands nothing
/// else of them.
#[derive(Debug)]
pub(super) struct ControlFrameBudget {
    /// How many control frames may still come.
    credit: u64,
    /// Up to when the seconds were credited.
    refilled: Instant,
    /// Bytes that we sent and that are not credited yet; below [`BYTES_PER_CREDIT`].
    sent: u64,
    /// How many bytes of the current frame, or of the preface, are still to come.
    skip: usize,
    /// What has come of the next frame's header.
    header: Vec<u8>,
}

impl ControlFrameBudget {
    /// Makes the full budget of a connection whose preface was read up to its first empty line.
    pub(super) fn after_preface() -> Self {
        Self {
            credit: MAX_CREDIT,
            refilled: Instant::now(),
            sent: 0,
            skip: PREFACE_REST,
            header: Vec::with_capacity(FRAME_HEADER),
        }
    }

    /// Counts the frames in what was read; frames may be split anywhere.
    ///
    /// # Errors
    ///
    /// If there are more control frames than the budget allows. The connection must be cut.
    pub(super) fn count(&mut self, read: &[u8]) -> io::Result<()> {
        let mut rest = read;
        while !rest.is_empty() {
            let skipped = self.skip.min(rest.len());
            self.skip -= skipped;
            rest = rest.get(skipped..).unwrap_or_default();
            let wanted = FRAME_HEADER.saturating_sub(self.header.len()).min(rest.len());
            let (more, after) = rest.split_at_checked(wanted).unwrap_or_default();
            self.header.extend_from_slice(more);
            rest = after;
            let [high, middle, low, kind, ..] = *self.header.as_slice() else { continue };
            if self.header.len() < FRAME_HEADER {
                continue;
            }
            self.header.clear();
            self.skip = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
            self.frame(kind, self.skip)?;
        }
        Ok(())
    }

    /// Counts one frame of this type and payload size. Frames of requests earn credit unless they are empty;
    /// all others cost one.
    fn frame(&mut self, kind: u8, size: usize) -> io::Result<()> {
        // Empty frames are counted by h2 itself.
        if matches!(kind, DATA | HEADERS | CONTINUATION) {
            let credit = if size > 0 { CREDIT_PER_FRAME } else { 0 };
            self.credit = (self.credit + credit).min(MAX_CREDIT);
            return Ok(());
        }
        if self.credit == 0 {
            self.refill();
        }
        match self.credit.checked_sub(1) {
            Some(left) => self.credit = left,
            None => {
                tracing::debug!("a connection sends too many control frames");
                return Err(io::Error::other("too many control frames"));
            }
        }
        Ok(())
    }

    /// Credits the full seconds since the last time. Only called without credit left, so that most frames do
    /// not read the clock.
    fn refill(&mut self) {
        let now = Instant::now();
        let seconds = now.duration_since(self.refilled).as_secs();
        if seconds > 0 {
            self.refilled = now;
            self.credit = (self.credit + seconds.saturating_mul(CREDIT_PER_SECOND)).min(MAX_CREDIT);
        }
    }

    /// Credits bytes that were sent.
    pub(super) fn wrote(&mut self, bytes: usize) {
        self.sent += bytes as u64;
        self.credit = (self.credit + self.sent / BYTES_PER_CREDIT).min(MAX_CREDIT);
        self.sent %= BYTES_PER_CREDIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, size: u8) -> Vec<u8> {
        let mut frame = vec![0, 0, size, kind, 0, 0, 0, 0, 0];
        frame.extend(vec![7; usize::from(size)]);
        frame
    }

    fn after_preface(frames: &[u8]) -> Vec<u8> {
        [b"SM\r\n\r\n", frames].concat()
    }

    #[tokio::test(start_paused = true)]
    async fn cuts_a_flood_of_any_control_frame() {
        for kind in [2, 3, 4, 6, 7, 8, 16, 200] {
            for size in [0, 8] {
                let flood = after_preface(&frame(kind, size).repeat(usize::try_from(MAX_CREDIT).unwrap()));
                for pieces in [1, 7, 9, 100_000] {
                    let mut frames = ControlFrameBudget::after_preface();
                    for piece in flood.chunks(pieces) {
                        frames.count(piece).unwrap();
                    }
                    assert!(frames.count(&frame(kind, size)).is_err(), "{kind} {size} {pieces}");
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn lets_control_frames_pass_beside_requests_answers_and_time() {
        let mut frames = ControlFrameBudget::after_preface();
        frames.count(&after_preface(b"")).unwrap();
        for _ in 0..10_000 {
            frames.count(&[frame(1, 9), frame(8, 4), frame(6, 8)].concat()).unwrap();
        }
        for _ in 0..10_000 {
            frames.wrote(16 * 1024);
            frames.count(&frame(8, 4).repeat(8)).unwrap();
        }
        for _ in 0..10_000 {
            tokio::time::advance(std::time::Duration::from_secs(1)).await;
            frames.count(&frame(6, 8).repeat(40)).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn empty_frames_of_a_body_buy_nothing() {
        let mut frames = ControlFrameBudget::after_preface();
        frames.count(&after_preface(b"")).unwrap();
        let both = [frame(0, 0), frame(6, 8)].concat();
        assert!((0..=MAX_CREDIT).any(|_| frames.count(&both).is_err()));
    }
}
