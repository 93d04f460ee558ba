//! The messages of an answer of the server, whether it is JSON or a stream of events.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response};
use http_body_util::{BodyExt, Limited};
use mcp_attune_tower::sse::{SsePiece, SseSplitter, event_data, replace_event_id};
use mcp_attune_tower::{BodyMediaType, HttpFailure, media};

use super::answers::failure;
use crate::Body;
use crate::upstream::UpstreamError;

/// The longest pause before a stream is gone on with, whatever the server wants.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// Reads the messages of one answer, one after the other. A read that is given up loses nothing.
pub(super) struct MessageReader {
    body: Option<Body>,
    form: AnswerForm,
    /// Messages that have come and were not asked for yet.
    ready: VecDeque<Bytes>,
    /// The id of the last event, after which a stream can be gone on with.
    last_event_id: Option<HeaderValue>,
    /// How long the server wants a client to wait before it goes on with a stream.
    retry_after: Option<Duration>,
}

enum AnswerForm {
    Json { most: usize },
    Events(SseSplitter),
}

impl fmt::Debug for MessageReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MessageReader").field("is_stream", &self.is_stream()).finish_non_exhaustive()
    }
}

impl MessageReader {
    /// Reads an answer. `most` bounds a JSON answer and `event` one event, in bytes.
    pub(super) fn new(answer: Response<Body>, most: usize, event: usize) -> Self {
        let form = match media(answer.headers()) {
            BodyMediaType::Events => AnswerForm::Events(SseSplitter::new(event)),
            _ => AnswerForm::Json { most },
        };
        let (last_event_id, retry_after) = (None, None);
        Self { body: Some(answer.into_body()), form, ready: VecDeque::new(), last_event_id, retry_after }
    }

    /// Reads an answer that goes on where another one ended.
    pub(super) fn resumed(answer: Response<Body>, event: usize, before: &Self) -> Self {
        let (last_event_id, retry_after) = (before.last_event_id.clone(), before.retry_after);
        Self { last_event_id, retry_after, ..Self::new(answer, event, event) }
    }

    /// Returns the id of the last event; `None` where the stream cannot be gone on with.
    pub(super) fn last_event_id(&self) -> Option<HeaderValue> {
        self.last_event_id.clone()
    }

    /// Returns how long to wait before a stream is gone on with, where the server said so.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Whether the answer is a stream, so that more may come after the first message.
    pub(super) fn is_stream(&self) -> bool {
        matches!(self.form, AnswerForm::Events(_))
    }

    /// Puts a message back that was read.
    pub(super) fn unread(&mut self, message: Bytes) {
        self.ready.push_front(message);
    }

    /// Returns the next message; `None` when the answer is over.
    pub(super) async fn next(&mut self) -> Option<Result<Bytes, HttpFailure>> {
        loop {
            if let Some(message) = self.ready.pop_front() {
                return Some(Ok(message));
            }
            match &mut self.form {
                AnswerForm::Json { most } => {
                    let body = Limited::new(self.body.take()?, *most);
                    let read = body.collect().await.map(http_body_util::Collected::to_bytes);
                    return Some(read.map_err(|error| body_failure(&*error)));
                }
                AnswerForm::Events(splitter) => {
                    let frame = self.body.as_mut()?.frame().await;
                    let Some(frame) = frame else {
                        self.body = None;
                        return None;
                    };
                    let Ok(data) = (match frame {
                        Ok(frame) => frame.into_data(),
                        Err(error) => {
                            self.body = None;
                            return Some(Err(body_failure(&*error)));
                        }
                    }) else {
                        continue;
                    };
                    match splitter.push(&data) {
                        Ok(pieces) => self.take(&pieces),
                        Err(too_large) => {
                            self.body = None;
                            return Some(Err(HttpFailure::new(502, too_large.notice())));
                        }
                    }
                }
            }
        }
    }
}

impl MessageReader {
    fn take(&mut self, pieces: &[SsePiece]) {
        for piece in pieces {
            let SsePiece::Event(event) = piece else { continue };
            // It is only looked at: no other id is put there.
            let _ = replace_event_id(event, |id| {
                self.last_event_id = HeaderValue::from_bytes(id).ok();
                None
            });
            if let Some(pause) = event_field(event, "retry").and_then(|pause| pause.trim().parse().ok()) {
                self.retry_after = Some(Duration::from_millis(pause).min(MAX_RETRY_AFTER));
            }
            self.ready.extend(event_data(event).filter(|data| !data.is_empty()).map(Bytes::from));
        }
    }
}

/// Returns the value of a field of an event, where it stands alone on a line.
fn event_field<'e>(event: &'e [u8], name: &str) -> Option<&'e str> {
    let lines =
        event.split(|byte| matches!(byte, b'\n' | b'\r')).filter_map(|line| std::str::from_utf8(line).ok());
    lines.rev().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

/// Returns what a caller is told where the answer of the server could not be read.
fn body_failure(error: &(dyn std::error::Error + 'static)) -> HttpFailure {
    match error.downcast_ref::<HttpFailure>() {
        Some(known) => known.clone(),
        None if error.is::<http_body_util::LengthLimitError>() => failure(UpstreamError::TooLarge),
        None => failure(UpstreamError::Broken),
    }
}
