//! The keys of an issuer, fetched over HTTP and kept.
//!
//! 1. Keys are fetched when the first token comes. After ten minutes the next token has them fetched again while it
//!    is verified with those that are there, so that keys which the issuer withdrew do not stay.
//! 2. A token whose key is not known has them fetched at once, because issuers rotate keys, and waits for it. Where the
//!    last try failed, nobody waits: the keys are fetched beside the requests until the issuer answers again.
//! 3. The issuer is asked by one request at a time, and not again within ten seconds, whatever tokens come: made-up
//!    key ids cannot make this gateway flood it.
//! 4. Fetching takes at most three seconds, and a document at most [`MAX_DOCUMENT_BYTES`]. Redirects are not followed.
//! 5. Fetching goes on where the caller whose token began it hangs up: otherwise somebody who hangs up every ten seconds
//!    could keep the keys from everybody.
//! 6. Where fetching fails, the keys that are there go on counting, for an hour since they were fetched.
//!
//! Rules: A7.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::keys::{SigningKey, read_keys};
use crate::upstream::{HttpUpstream, HttpUpstreamOptions, UpstreamError, UpstreamSetupError};

/// How long keys are used, and how often their issuer is asked.
#[derive(Clone, Copy)]
struct JwksTiming {
    /// How old keys may be before they are fetched again.
    refresh_after: Duration,
    /// How long after one try to fetch the keys the next may begin.
    retry_after: Duration,
    /// How long keys count that could not be fetched again.
    keep_for: Duration,
    /// How long one try to fetch the keys may take.
    fetch_timeout: Duration,
}

const TIMING: JwksTiming = JwksTiming {
    refresh_after: Duration::from_secs(10 * 60),
    retry_after: Duration::from_secs(10),
    keep_for: Duration::from_secs(60 * 60),
    fetch_timeout: Duration::from_secs(3),
};

/// The largest document of keys that is read, in bytes.
const MAX_DOCUMENT_BYTES: usize = 256 * 1024;

/// The path that stands for the URL of the keys.
const PATH: &str = "/";

/// The keys of one issuer. A clone shares them.
#[derive(Clone)]
pub(super) struct Jwks {
    shared: Arc<JwksState>,
}

struct JwksState {
    url: Uri,
    timing: JwksTiming,
    issuer: HttpUpstream,
    known: Mutex<KnownKeys>,
    /// Held while the issuer is asked; when the last try began.
    asking: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

/// The keys that were fetched last.
#[derive(Clone, Default)]
struct KnownKeys {
    keys: Arc<[SigningKey]>,
    fetched: Option<Instant>,
    /// Whether the last try to fetch them failed.
    is_failing: bool,
}

impl KnownKeys {
    fn are_younger_than(&self, age: Duration) -> bool {
        self.fetched.is_some_and(|fetched| fetched.elapsed() < age)
    }
}

impl Jwks {
    /// Prepares to fetch the keys from a URL. Nothing is fetched yet.
    pub(super) fn new(url: &Uri) -> Result<Self, UpstreamSetupError> {
        Self::with_timing(url, TIMING)
    }

    fn with_timing(url: &Uri, timing: JwksTiming) -> Result<Self, UpstreamSetupError> {
        let mut options = HttpUpstreamOptions::new(url.clone(), PATH);
        options.connect = timing.fetch_timeout;
        options.first_byte = timing.fetch_timeout;
        options.stream_idle = timing.fetch_timeout;
        let issuer = HttpUpstream::new(&options)?;
        let (known, asking) = (Mutex::default(), Arc::default());
        Ok(Self { shared: Arc::new(JwksState { url: url.clone(), timing, issuer, known, asking }) })
    }

    /// Returns all keys, among them one that is wanted if the issuer has one. `None` if there are none at all, because
    /// they could not be fetched.
    pub(super) async fn find(&self, is_wanted: impl Fn(&SigningKey) -> bool) -> Option<Arc<[SigningKey]>> {
        let JwksTiming { keep_for, refresh_after, .. } = self.shared.timing;
        let known = self.shared.known();
        let has_key = known.keys.iter().any(is_wanted) && known.are_younger_than(keep_for);
        if !has_key && !known.is_failing {
            self.fetch().await;
        } else if !has_key || !known.are_younger_than(refresh_after) {
            self.fetch_beside();
        }
        let known = if has_key { known } else { self.shared.known() };
        known.are_younger_than(keep_for).then_some(known.keys)
    }

    /// Fetches the keys and waits for it, unless somebody tried not long ago. Whoever comes while they are fetched waits
    /// for that.
    async fn fetch(&self) {
        let asked = Arc::clone(&self.shared.asking).lock_owned().await;
        if let Some(fetching) = self.begin(asked) {
            let _ = fetching.await;
        }
    }

    /// Has the keys fetched without waiting for it, unless that is being done or somebody tried not long ago.
    fn fetch_beside(&self) {
        if let Ok(asked) = Arc::clone(&self.shared.asking).try_lock_owned() {
            self.begin(asked);
        }
    }

    /// Begins to fetch the keys, unless somebody tried not long ago. A task of its own does it, because a caller that
    /// hangs up takes its request's future with it.
    fn begin(&self, mut asked: OwnedMutexGuard<Option<Instant>>) -> Option<JoinHandle<()>> {
        if asked.is_some_and(|asked| asked.elapsed() < self.shared.timing.retry_after) {
            return None;
        }
        *asked = Some(Instant::now());
        let shared = Arc::clone(&self.shared);
        Some(tokio::spawn(async move {
            shared.fetch().await;
            drop(asked);
        }))
    }
}

impl JwksState {
    fn known(&self) -> KnownKeys {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn fetch(&self) {
        let fetched = timeout(self.timing.fetch_timeout, self.ask()).await.unwrap_or(Err(JwksError::Timeout));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.is_failing = fetched.is_err();
        match fetched {
            Ok(keys) => {
                tracing::debug!(url = %self.url, keys = keys.len(), "fetched the keys that sign tokens");
                (known.keys, known.fetched) = (keys.into(), Some(Instant::now()));
            }
            Err(why) => tracing::warn!(
                url = %self.url,
                "the keys that sign tokens cannot be fetched: {why}; without them tokens say nothing of their callers"
            ),
        }
    }

    async fn ask(&self) -> Result<Vec<SigningKey>, JwksError> {
        let request = Request::get(PATH)
            .header(header::ACCEPT, "application/jwk-set+json, application/json")
            .body(Empty::<Bytes>::new());
        let request = request.map_err(|_| JwksError::Document)?;
        let answer = self.issuer.answer(request, None).await.map_err(JwksError::Upstream)?;
        if answer.status() != StatusCode::OK {
            return Err(JwksError::Status(answer.status()));
        }
        let body = Limited::new(answer.into_body().into_body(), MAX_DOCUMENT_BYTES).collect().await;
        let body = body.map_err(|_| JwksError::Body)?.to_bytes();
        read_keys(&body).ok_or(JwksError::Document)
    }
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Jwks").field(&self.shared.url).finish()
    }
}

/// Why the keys could not be fetched.
#[derive(Debug)]
enum JwksError {
    Timeout,
    Upstream(UpstreamError),
    Status(StatusCode),
    Body,
    Document,
}

impl fmt::Display for JwksError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout => f.write_str("the answer took too long"),
            Self::Upstream(why) => why.fmt(f),
            Self::Status(status) => write!(f, "the answer was {status}; is `jwks` the right URL?"),
            Self::Body => {
                write!(f, "the answer broke off, or is larger than {} KiB", MAX_DOCUMENT_BYTES / 1024)
            }
            Self::Document => f.write_str("the answer is no JWKS document; is `jwks` the right URL?"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// An issuer that counts how often it is asked, and answers with what it is told to.
    struct TestIssuer {
        jwks: Jwks,
        asked: Arc<AtomicUsize>,
        answer: Arc<Mutex<String>>,
    }

    impl TestIssuer {
        async fn start(timing: JwksTiming) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("http://{}/keys?v=1", listener.local_addr().unwrap());
            let (asked, answer) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(String::new())));
            let (count, said) = (Arc::clone(&asked), Arc::clone(&answer));
            tokio::spawn(async move {
                loop {
                    let (tcp, _) = listener.accept().await.unwrap();
                    tokio::spawn(answer_once(tcp, Arc::clone(&count), Arc::clone(&said)));
                }
            });
            Self { jwks: Jwks::with_timing(&url.parse().unwrap(), timing).unwrap(), asked, answer }
        }

        fn says_nothing(&self) {
            self.answer.lock().unwrap().clear();
        }

        fn times_asked(&self) -> usize {
            self.asked.load(Ordering::SeqCst)
        }

        fn knows(&self, id: &str) -> bool {
            let known = self.jwks.shared.known();
            known.keys.iter().any(|key| key.fits(Some(id), jsonwebtoken::Algorithm::EdDSA))
        }

        fn says(&self, status: &str, body: &str) {
            let length = body.len();
            *self.answer.lock().unwrap() =
                format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
        }

        fn has_keys(&self, ids: &[&str]) {
            let key = |id: &&str| {
                format!(
                    r#"{{"kty":"OKP","crv":"Ed25519","kid":"{id}","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}"#
                )
            };
            let keys: Vec<_> = ids.iter().map(key).collect();
            self.says("200 OK", &format!(r#"{{"keys":[{}]}}"#, keys.join(",")));
        }

        /// Whether there is a key of this id, and how often the issuer was asked until now.
        async fn find(&self, id: &str) -> (Option<bool>, usize) {
            let is_wanted = |key: &SigningKey| key.fits(Some(id), jsonwebtoken::Algorithm::EdDSA);
            let keys = self.jwks.find(is_wanted).await;
            (keys.map(|keys| keys.iter().any(is_wanted)), self.times_asked())
        }
    }

    /// Answers a request as soon as there is something to say.
    async fn answer_once(mut tcp: TcpStream, count: Arc<AtomicUsize>, said: Arc<Mutex<String>>) {
        let mut head = [0; 4096];
        let length = tcp.read(&mut head).await.unwrap();
        let head = String::from_utf8_lossy(&head[..length]).into_owned();
        assert!(head.starts_with("GET /keys?v=1 HTTP/1.1\r\n"), "{head}");
        count.fetch_add(1, Ordering::SeqCst);
        let answer = loop {
            let said = said.lock().unwrap().clone();
            if !said.is_empty() {
                break said;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        let _ = tcp.write_all(answer.as_bytes()).await;
    }

    /// Waits until something is so; a test in which it never is fails.
    async fn until(is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(60), waiting).await.expect("it never came to be");
    }

    #[tokio::test]
    async fn keys_are_fetched_once_and_kept() {
        let issuer = TestIssuer::start(TIMING).await;
        issuer.has_keys(&["a"]);
        for _ in 0..3 {
            assert_eq!(issuer.find("a").await, (Some(true), 1));
        }
    }

    #[tokio::test]
    async fn made_up_key_ids_do_not_flood_the_issuer() {
        let issuer = TestIssuer::start(TIMING).await;
        issuer.has_keys(&["a"]);
        for number in 0..20 {
            assert_eq!(issuer.find(&format!("made-up-{number}")).await, (Some(false), 1));
        }
        assert_eq!(issuer.find("a").await, (Some(true), 1));
    }

    #[tokio::test]
    async fn a_rotated_key_is_found_by_the_first_token_that_it_signed() {
        let issuer = TestIssuer::start(JwksTiming { retry_after: Duration::ZERO, ..TIMING }).await;
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (Some(true), 1));
        issuer.has_keys(&["b"]);
        assert_eq!(issuer.find("b").await, (Some(true), 2));
        // What the issuer has withdrawn is gone, too.
        assert_eq!(issuer.find("a").await, (Some(false), 3));
    }

    #[tokio::test]
    async fn old_keys_count_while_they_are_fetched_again() {
        let zero = Duration::ZERO;
        let issuer = TestIssuer::start(JwksTiming { refresh_after: zero, retry_after: zero, ..TIMING }).await;
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (Some(true), 1));
        issuer.has_keys(&["b"]);
        // The first to come after the change is still verified with the key that is there.
        assert_eq!(issuer.find("a").await.0, Some(true));
        until(|| !issuer.knows("a")).await;
        assert_eq!(issuer.find("b").await.0, Some(true));
    }

    #[tokio::test]
    async fn whoever_comes_while_keys_are_fetched_waits_for_that() {
        let issuer = Arc::new(TestIssuer::start(TIMING).await);
        issuer.has_keys(&["a"]);
        let asking = (0..50).map(|_| {
            let issuer = Arc::clone(&issuer);
            tokio::spawn(async move { issuer.find("a").await })
        });
        for found in asking.collect::<Vec<_>>() {
            assert_eq!(found.await.unwrap(), (Some(true), 1));
        }
    }

    #[tokio::test]
    async fn an_issuer_that_fails_leaves_the_keys_that_are_there() {
        let huge = format!(r#"{{"keys":[],"padding":"{}"}}"#, "x".repeat(MAX_DOCUMENT_BYTES));
        for (status, body) in
            [("500 Oops", ""), ("200 OK", "<html>"), ("302 Found", r#"{"keys":[]}"#), ("200 OK", &huge)]
        {
            let issuer = TestIssuer::start(JwksTiming { retry_after: Duration::ZERO, ..TIMING }).await;
            issuer.has_keys(&["a"]);
            assert_eq!(issuer.find("a").await, (Some(true), 1));
            issuer.says(status, body);
            assert_eq!(issuer.find("b").await, (Some(false), 2), "{status}");
            assert_eq!(issuer.find("a").await, (Some(true), 2), "{status}");
        }
    }

    #[tokio::test]
    async fn keys_that_are_too_old_count_no_more() {
        let zero = Duration::ZERO;
        let issuer = TestIssuer::start(JwksTiming { keep_for: zero, retry_after: zero, ..TIMING }).await;
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (None, 1));
        // A token that comes then waits for new ones.
        assert_eq!(issuer.find("a").await, (None, 2));
    }

    #[tokio::test]
    async fn an_issuer_that_does_not_answer_is_waited_for_once() {
        let issuer =
            TestIssuer::start(JwksTiming { fetch_timeout: Duration::from_millis(50), ..TIMING }).await;
        assert_eq!(issuer.find("a").await, (None, 1));
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (None, 1));
    }

    #[tokio::test]
    async fn an_issuer_that_answers_byte_by_byte_is_not_waited_for_without_end() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut tcp, _) = listener.accept().await.unwrap();
            let mut byte: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n";
            while tcp.write_all(byte).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                byte = b" ";
            }
        });
        let timing = JwksTiming { fetch_timeout: Duration::from_millis(100), ..TIMING };
        let jwks = Jwks::with_timing(&url.parse().unwrap(), timing).unwrap();
        let found = timeout(Duration::from_secs(30), jwks.find(|_| true)).await.expect("it is waited for");
        assert!(found.is_none());
    }

    #[tokio::test]
    async fn nobody_waits_for_an_issuer_that_failed_until_it_answers_again() {
        let timing = JwksTiming { retry_after: Duration::ZERO, fetch_timeout: LONG, ..TIMING };
        let issuer = TestIssuer::start(timing).await;
        issuer.says("500 Oops", "");
        assert_eq!(issuer.find("a").await, (None, 1));
        issuer.says_nothing();
        let all = async {
            for _ in 0..20 {
                assert_eq!(issuer.find("a").await.0, None);
            }
        };
        timeout(Duration::from_secs(60), all).await.expect("somebody waits");
        until(|| issuer.times_asked() == 2).await;
        issuer.has_keys(&["a"]);
        until(|| issuer.knows("a")).await;
        assert_eq!(issuer.find("a").await, (Some(true), 2));
        // It answers again, so a token of a new key waits for that key.
        issuer.has_keys(&["b"]);
        assert_eq!(issuer.find("b").await, (Some(true), 3));
    }

    #[tokio::test]
    async fn keys_come_though_the_caller_who_asked_for_them_hangs_up() {
        let issuer = Arc::new(TestIssuer::start(JwksTiming { fetch_timeout: LONG, ..TIMING }).await);
        let asking = Arc::clone(&issuer);
        let caller = tokio::spawn(async move { asking.find("made-up").await });
        until(|| issuer.times_asked() == 1).await;
        caller.abort();
        let _ = caller.await;
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (Some(true), 1));
    }

    #[tokio::test]
    async fn requests_leave_nothing_behind_while_a_slow_issuer_is_asked() {
        let zero = Duration::ZERO;
        let timing = JwksTiming { refresh_after: zero, retry_after: zero, fetch_timeout: LONG, ..TIMING };
        let issuer = TestIssuer::start(timing).await;
        issuer.has_keys(&["a"]);
        assert_eq!(issuer.find("a").await, (Some(true), 1));
        issuer.says_nothing();
        for _ in 0..1000 {
            assert_eq!(issuer.find("a").await.0, Some(true));
        }
        until(|| issuer.times_asked() == 2).await;
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert!(tasks < 20, "{tasks} tasks");
    }
}
