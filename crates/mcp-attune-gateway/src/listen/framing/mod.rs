//! Checks the framing of requests before hyper reads them: hyper accepts what can be read in two ways, and
//! tells nobody. Two readers that disagree on where a request ends make request smuggling possible.
//!
//! 1. Over HTTP/1.1, [`FramingChecker`] decides what hyper gets to read, and which request is refused
//!    ([`FramingError`]).
//! 2. Over HTTP/2, control frames are counted. A connection that sends many of them and little else is cut.
//!    This part is not in `mcp-attune-http1`, because it is not HTTP/1.1 and needs a clock.
//!
//! Only connections that hyper reads come here: plain requests are read without it.
//!
//! Rules: G4, H20.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use mcp_attune_http1::{FramingChecker, FramingError, HeadLimits};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

mod frames;

use super::ListenerLimits;
use frames::ControlFrameBudget;

/// How much is read at once, in bytes.
const READ_SIZE: usize = 16 * 1024;

/// What the check found on one connection, for the service that answers its requests. The check runs ahead of
/// hyper; the service recognizes the refused request by its number.
#[derive(Debug, Default)]
pub(super) struct FramingVerdicts {
    /// How many requests hyper has handed out so far.
    begun: AtomicUsize,
    /// The refused request, by its number on the connection, and why. There is at most one, because nothing
    /// is read after it.
    misframed: OnceLock<(usize, FramingError)>,
}

impl FramingVerdicts {
    /// Returns the number of the request that begins now. Call it once for each, in the order in which hyper
    /// hands them out.
    pub(super) fn begin_request(&self) -> usize {
        self.begun.fetch_add(1, Relaxed)
    }

    /// Returns why a request is refused, or `None` if it is not, or not yet.
    pub(super) fn refusal_of_request(&self, number: usize) -> Option<FramingError> {
        self.misframed.get().filter(|(refused, _)| *refused == number).map(|(_, why)| *why)
    }
}

/// A connection that hyper reads only after the check. Writing goes through.
pub(super) struct FramingCheckedIo<I> {
    io: I,
    checker: FramingChecker,
    /// What was checked, and not read by hyper yet.
    checked: BytesMut,
    /// Counts the control frames; `None` as long as the connection is not known to be HTTP/2.
    frames: Option<ControlFrameBudget>,
    /// Whether the caller sends no more.
    is_closed: bool,
    verdicts: Arc<FramingVerdicts>,
}

impl<I> FramingCheckedIo<I> {
    /// Makes the connection. `read` is what was read of it before, and is checked first.
    ///
    /// # Errors
    ///
    /// If `read` already has too many HTTP/2 control frames.
    pub(super) fn new(
        io: I,
        read: Bytes,
        limits: &ListenerLimits,
        verdicts: Arc<FramingVerdicts>,
    ) -> io::Result<Self> {
        let head =
            HeadLimits { lines: limits.headers, bytes: limits.header_bytes.max(super::MIN_BUFFER_BYTES) };
        let checker = FramingChecker::new(head);
        let checked = BytesMut::new();
        let mut framed = Self { io, checker, checked, frames: None, is_closed: false, verdicts };
        framed.admit(read)?;
        Ok(framed)
    }

    /// Checks what was read, and keeps what hyper may read of it. A refused request is noted in the verdicts;
    /// hyper reads a harmless head in its place.
    ///
    /// # Errors
    ///
    /// If there are too many HTTP/2 control frames, which cuts the connection.
    fn admit(&mut self, read: Bytes) -> io::Result<()> {
        let had_refused = self.checker.refused().is_some();
        let frames = self.checker.check(read, &mut self.checked);
        if let Some((number, why)) = self.checker.refused().filter(|_| !had_refused) {
            tracing::debug!(%why, "a request is refused for its framing");
            // It is the only one: nothing is read after it.
            let _ = self.verdicts.misframed.set((number, why));
        }
        if self.checker.is_http2() {
            self.frames.get_or_insert_with(ControlFrameBudget::after_preface).count(&frames)?;
            self.checked.extend_from_slice(&frames);
        }
        Ok(())
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for FramingCheckedIo<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        loop {
            if !this.checked.is_empty() {
                let size = this.checked.len().min(buf.remaining());
                buf.put_slice(&this.checked.split_to(size));
                return Poll::Ready(Ok(()));
            }
            if this.is_closed {
                return Poll::Ready(Ok(()));
            }
            if this.checker.is_done() {
                // hyper would take an end for one of the caller's, and not answer any more.
                return Poll::Pending;
            }
            let mut read = BytesMut::with_capacity(READ_SIZE);
            if ready!(pin!(this.io.read_buf(&mut read)).poll(cx))? == 0 {
                // Half a head is for hyper to refuse.
                this.checker.end(&mut this.checked);
                this.is_closed = true;
                continue;
            }
            this.admit(read.freeze())?;
        }
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for FramingCheckedIo<I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write(cx, buf))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.io).poll_write_vectored(cx, bufs))?;
        self.wrote(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}

impl<I> FramingCheckedIo<I> {
    /// Counts what was sent, which earns a HTTP/2 caller control frames.
    fn wrote(&mut self, bytes: usize) {
        if let Some(frames) = &mut self.frames {
            frames.wrote(bytes);
        }
    }
}
