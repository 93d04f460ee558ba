//! Servers behind that are programs: started, spoken to over their standard input and output, and ended.
//!
//! 1. Modern callers share one child, which is started when it is needed and again when it ended. Every request has
//!    a number of its own there; the caller's names are put back on the way out.
//! 2. A legacy caller's `initialize` starts a child for that session alone, up to so many. Where there are as many, the
//!    session that was idle for longest ends and makes room; one with a call under way or a stream open never does.
//! 3. An answer that comes first is JSON; a message before it makes a stream. A legacy call that takes its time
//!    becomes a stream too, so that it can be gone on with when a connection is lost.
//! 4. Who speaks what the child does not is told what it does speak.
//! 5. Children without work end.
//!
//! Caveat: what a shared child says without naming a request (a log message, a question) could be meant for anyone,
//! and is dropped. A `notifications/cancelled` or `notifications/progress` that a modern caller posts is taken and goes
//! nowhere: ids of different callers are often the same, over HTTP it is the closed stream that cancels, and a modern
//! server asks nothing that a caller could report progress of.
//!
//! Rules: G2, G4, G5, G9, G11, H14, H15.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use mcp_attune_process::process::{self, Environment, Program, Stderr};
use mcp_attune_wire::agree::{self, Era};
use mcp_attune_wire::header::Headers;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::reply::Reply;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

mod answer;
mod backoff;
mod children;
mod era;
mod events;
mod heard;
mod legacy;
mod link;
mod modern;
pub(crate) mod pipe;
mod place;
mod rename;
mod session;
mod shared;
mod slots;
mod streams;

pub(crate) use children::Children;

use crate::metrics::Meter;
use crate::upstream::{
    Metered, Requester, Upstream, UpstreamError, UpstreamFuture, UpstreamResult, metered_body,
};
use crate::{Body, config, refusal};
use backoff::Backoff;
use era::Speaks;
use session::Session;
use shared::Shared;
use slots::SessionSlots;

use crate::caller_keys::CallerKeys;
use crate::slots::Slots;

/// Children without work are looked for this often, or more often where they may be idle for less.
const LOOK: Duration = Duration::from_secs(5);
/// A start that has to wait longer than this is refused instead.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// A program that ended before it answered is not started again for so long: one caller's call can ask it more than once.
const SAME_END: Duration = Duration::from_secs(1);

/// How a program is run and spoken to.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Options {
    mount: String,
    program: Program,
    sessions: usize,
    /// The part of the sessions that one caller may have.
    share: f64,
    idle: Duration,
    first_byte: Duration,
    stream_idle: Duration,
    /// How long a line may be.
    line: usize,
    /// How many bytes of one session are kept to be heard again.
    kept: usize,
}

impl Options {
    pub(crate) fn new(mount: &str, child: &config::Child, limits: &config::Limits) -> Self {
        let added = child.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        let program = Program {
            name: child.program.clone(),
            arguments: child.arguments.clone(),
            directory: child.directory.clone(),
            environment: if child.inherit_env {
                Environment::Inherited(added.collect())
            } else {
                Environment::Chosen(added.collect())
            },
            stderr: Stderr::Logged(mount.to_owned()),
        };
        Self {
            mount: mount.to_owned(),
            program,
            sessions: child.children,
            share: limits.share,
            idle: child.child_idle,
            first_byte: limits.upstream_first_byte,
            stream_idle: limits.stream_idle,
            line: limits.answer.max(limits.event),
            kept: limits.event,
        }
    }

    /// Whether the program is there at all.
    pub(crate) fn find(&self) -> Result<(), process::NotStarted> {
        process::find(&self.program)
    }
}

/// A program behind, as a service. A clone is the same one, with the same children.
#[derive(Clone, Debug)]
pub(crate) struct ChildUpstream(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    options: Options,
    /// Says when all is over; let go of at the end, which waits for it.
    all_stop: Mutex<Option<watch::Receiver<bool>>>,
    backoff: Arc<Mutex<Backoff>>,
    known: Mutex<Known>,
    /// Held while a shared child is being started.
    starting: tokio::sync::Mutex<()>,
    /// How many starts of a shared child have failed.
    failed: AtomicU64,
    slots: SessionSlots,
    /// Counts the sessions of each caller.
    callers: Arc<Slots>,
}

#[derive(Debug, Default)]
struct Known {
    speaks: Option<Arc<Speaks>>,
    /// Whether it initializes, once a caller has asked it to: not all who do list the versions that begin so.
    initializes: Option<bool>,
    shared: Option<Arc<Shared>>,
    sessions: HashMap<String, Arc<Session>>,
    last_failure: Option<(UpstreamError, Instant)>,
    /// Whether somebody looks for children without work.
    looks: bool,
}

impl Inner {
    fn new(options: Options, all_stop: watch::Receiver<bool>) -> Self {
        let slots = SessionSlots::new(options.sessions);
        let callers = Slots::shares_of(options.sessions, options.share);
        Self {
            options,
            all_stop: Mutex::new(Some(all_stop)),
            backoff: Arc::default(),
            known: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            failed: AtomicU64::new(0),
            slots,
            callers,
        }
    }

    fn options(&self) -> &Options {
        &self.options
    }

    /// No child is started from now on.
    fn let_go(&self) {
        self.all_stop.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn all_stop(&self) -> Result<watch::Receiver<bool>, UpstreamError> {
        let all_stop = self.all_stop.lock().unwrap_or_else(PoisonError::into_inner);
        all_stop.clone().ok_or(UpstreamError::Refused)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing that holds the lock can panic halfway through a change.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a child may be started again, if that is soon.
    async fn pause(&self) -> Result<(), UpstreamError> {
        let last = self.known().last_failure;
        if let Some((ended @ UpstreamError::Ended(_), at)) = last
            && at.elapsed() < SAME_END
        {
            return Err(ended);
        }
        let pause = self.backoff.lock().unwrap_or_else(PoisonError::into_inner).pause();
        match pause {
            None => Ok(()),
            Some(pause) if pause <= LONGEST_WAIT => {
                tokio::time::sleep(pause).await;
                Ok(())
            }
            Some(_) => Err(UpstreamError::Refused),
        }
    }

    fn not_started(&self, why: &process::NotStarted) -> UpstreamError {
        tracing::error!(mount = self.options.mount, "{why}");
        let now = Instant::now();
        self.backoff.lock().unwrap_or_else(PoisonError::into_inner).ended(now);
        UpstreamError::NotStarted
    }

    /// What the child speaks, found out where it is not known yet.
    async fn speaks(self: &Arc<Self>) -> Result<Arc<Speaks>, UpstreamError> {
        if let Some(speaks) = self.known().speaks.clone() {
            return Ok(speaks);
        }
        self.ready().await.map(|(speaks, _)| speaks)
    }

    /// Whether this is a child that no legacy caller can speak to, as far as is known.
    fn is_modern_only(&self, speaks: &Speaks) -> bool {
        speaks.is_modern_only() && self.known().initializes != Some(true)
    }

    /// What the child speaks, and where it is modern, one that runs. The work goes on when its caller goes away.
    async fn ready(self: &Arc<Self>) -> Result<(Arc<Speaks>, Option<Arc<Shared>>), UpstreamError> {
        if let Some(ready) = self.is_ready() {
            return Ok(ready);
        }
        let before = self.failed.load(Ordering::Acquire);
        let this = Arc::clone(self);
        let work = tokio::spawn(async move {
            let _held = this.starting.lock().await;
            if let Some(ready) = this.is_ready() {
                return Ok(ready);
            }
            // Whoever held it before has just failed, for all who waited.
            if this.failed.load(Ordering::Acquire) != before
                && let Some((error, _)) = this.known().last_failure
            {
                return Err(error);
            }
            this.start().await.inspect_err(|error| {
                this.known().last_failure = Some((*error, Instant::now()));
                this.failed.fetch_add(1, Ordering::AcqRel);
            })
        });
        let ready =
            timeout(self.options.first_byte, work).await.map_err(|_| UpstreamError::FirstByteTimeout)?;
        ready.unwrap_or(Err(UpstreamError::Broken))
    }

    fn is_ready(&self) -> Option<(Arc<Speaks>, Option<Arc<Shared>>)> {
        let known = self.known();
        let speaks = known.speaks.clone()?;
        if !speaks.modern {
            return Some((speaks, None));
        }
        let shared = known.shared.clone().filter(|shared| !shared.is_over())?;
        Some((speaks, Some(shared)))
    }

    async fn start(self: &Arc<Self>) -> Result<(Arc<Speaks>, Option<Arc<Shared>>), UpstreamError> {
        self.pause().await?;
        let start = || {
            let Options { program, mount, line, .. } = &self.options;
            let started = Shared::start(program, mount, *line, self.all_stop()?, Arc::clone(&self.backoff));
            started.map(Arc::new).map_err(|why| self.not_started(&why))
        };
        let speaks = self.known().speaks.clone();
        let (speaks, shared) = match speaks {
            Some(speaks) => {
                let shared = start()?;
                era::greet(&shared, self.options.first_byte / 6).await?;
                (speaks, Some(shared))
            }
            None => {
                let at_most = self.options.first_byte;
                let (speaks, shared) = era::probe(start, at_most / 6, at_most).await?;
                tracing::info!(mount = self.options.mount, versions = ?speaks.versions, "the child was asked what it speaks");
                let shared = match shared {
                    None if speaks.modern => Some(start()?),
                    shared => shared,
                };
                (Arc::new(speaks), shared)
            }
        };
        let mut known = self.known();
        known.speaks = Some(Arc::clone(&speaks));
        known.shared.clone_from(&shared);
        drop(known);
        self.look();
        Ok((speaks, shared))
    }

    /// Looks for children without work from now on, if nobody does yet.
    fn look(self: &Arc<Self>) {
        if std::mem::replace(&mut self.known().looks, true) {
            return;
        }
        let pause = LOOK.min(self.options.idle / 2).max(Duration::from_millis(10));
        let this = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(pause).await;
                let Some(this) = this.upgrade() else { return };
                this.end_idle();
            }
        });
    }

    fn end_idle(&self) {
        let idle = self.options.idle;
        let mut known = self.known();
        let ended: Vec<_> = known
            .sessions
            .extract_if(|_, session| session.is_over() || session.is_idle(idle))
            .map(|(_, session)| session)
            .collect();
        let shared = known.shared.take_if(|shared| shared.is_over() || shared.is_idle(idle));
        drop(known);
        for session in &ended {
            session.end();
        }
        drop(shared);
    }

    /// Ends the session that was idle for longest among those that `may_end`, and says whether there was one.
    fn end_longest_idle(&self, may_end: impl Fn(&Session) -> bool) -> bool {
        let mut known = self.known();
        loop {
            let sessions = known.sessions.iter().filter(|(_, session)| may_end(session));
            let idle = sessions.filter_map(|(id, session)| Some((session.idle_since()?, id)));
            let Some(id) = idle.min().map(|(_, id)| id.clone()) else { return false };
            // Its caller may have been quicker.
            if known.sessions.get(&id).is_some_and(|session| session.end_idle()) {
                known.sessions.remove(&id);
                tracing::debug!(mount = self.options.mount, "an idle session makes room for a new one");
                return true;
            }
        }
    }

    async fn handle(
        self: Arc<Self>,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
        keys: CallerKeys,
    ) -> Result<Response<Body>, UpstreamError> {
        if method != Method::POST {
            return self.without_message(&method, &headers).await;
        }
        let message = match Message::parse(&body) {
            Ok(message) => message,
            Err(unreadable) => return Ok(refusal::answer(&Reply::from(&unreadable))),
        };
        let lines = Headers::new(headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        match agree::era(&lines, &message) {
            Era::Modern => self.modern(&message).await,
            Era::Legacy => self.legacy(&headers, &message, keys).await,
        }
    }
}

impl ChildUpstream {
    fn new(inner: Arc<Inner>) -> Self {
        Self(inner)
    }
}

impl Upstream for ChildUpstream {
    fn call(&self, request: Request<Body>, requester: Requester, meter: &Meter) -> UpstreamFuture {
        let inner = Arc::clone(&self.0);
        let answer = async move {
            let (head, body) = request.into_parts();
            // The layer has read it, up to its bound; what is no POST has no body that matters.
            let body = match head.method {
                Method::POST => body.collect().await.map_err(|_| UpstreamError::Caller)?.to_bytes(),
                _ => Bytes::new(),
            };
            inner.handle(head.method, head.headers, body, requester.keys).await
        };
        Box::pin(Metered::new(answer, meter, metered_body))
    }

    /// What is no JSON is not read at all.
    fn refuse(&self, request: &Request<Body>) -> Option<Reply> {
        (request.method() == Method::POST).then(|| answer::not_json(request.headers()))?
    }

    /// Starts the program where it is needed to know what it speaks, and says whether it answers.
    fn reach(&self) -> UpstreamResult<'_, ()> {
        Box::pin(async { self.0.ready().await.map(drop) })
    }

    /// The program without its arguments, which can hold secrets.
    fn name(&self) -> String {
        format!("`{}`", self.0.options.program.name)
    }

    fn is_program(&self) -> bool {
        true
    }
}

/// Taken, and nothing to say.
fn taken() -> Response<Body> {
    answer::empty(StatusCode::ACCEPTED)
}
