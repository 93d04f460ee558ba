//! A cache of answers, which are kept for as long as their server says.
//!
//! 1. The key is the server with the version it speaks, the method, the parameters, what the caller says of
//!    itself (the preference to the letter, features and capabilities, the context), and the identity. An
//!    answer that the server calls public is found without the identity; everything else must still be the
//!    same.
//! 2. An answer is served while it is fresh. What a notification says has changed is not fresh any more, and
//!    neither is an answer that was on its way at that moment. A connection with a cache listens for these
//!    notifications, if its server says that it sends them.
//! 3. Errors are not kept, nor what [`mcp_attune::cache`] does not let be kept.
//! 4. There is a bound on the bytes of all answers together and on their number; what is asked for least goes
//!    first.
//!
//! The identity is made of the headers that a connection was given and the query of its URL; a keyed hash of it
//! is all that stays. So one cache may serve connections of many identities, and none gets another's answer.
//!
//! rmcp has a cache of its own, which leaves `_meta` out of its key, and with it the language; a connection
//! goes past it.
//!
//! Rules: G3, L18.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mcp_attune::cache::{CacheHint, CacheScope, ChangeNotification};
use quick_cache::sync::{Cache as Slots, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, Weighter};
use serde_json::value::RawValue;

use super::listing::CompleteListing;

/// A cache of servers' answers, for one connection or shared by many. It can be used from all threads.
///
/// ```
/// use mcp_attune_rmcp::{AnswerCache, ConnectionOptions};
/// use std::sync::Arc;
///
/// let cache = Arc::new(AnswerCache::bounded(1 << 20, 100));
/// let mut options = ConnectionOptions::default();
/// options.cache = Some(cache.clone()); // and in the options of others
/// assert!(cache.is_empty());
/// ```
///
/// Rules: G3, L18.
pub struct AnswerCache {
    slots: Slots<
        AnswerCacheKey,
        AnswerCacheEntry,
        AnswerCacheWeighter,
        RandomState,
        DefaultLifecycle<AnswerCacheKey, AnswerCacheEntry>,
    >,
    /// The keys of the two hashes that make an identity.
    hashes: (RandomState, RandomState),
    /// How many changes were told so far. An answer that was asked for before the latest change is not kept.
    changes: AtomicU64,
}

/// Who asks: two keyed hashes of the connection's headers and the query of its URL.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct CacheIdentity(u64, u64);

/// What is asked, of whom and by whom: everything that an answer depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerCacheQuery<'a> {
    /// The server and the version that it speaks.
    pub(crate) server: &'a str,
    pub(crate) method: &'a str,
    /// The parameters as JSON, or a word that stands for all pages of a listing.
    pub(crate) params: &'a str,
    /// The [cache key](super::profile::CallerProfile::cache_key) of the caller's profile.
    pub(crate) caller: &'a str,
    pub(crate) identity: CacheIdentity,
}

/// An answer as it is kept.
#[derive(Clone, Debug)]
pub(crate) enum CachedAnswer {
    /// One result, as it came.
    Result(Arc<RawValue>),
    /// All pages of a listing.
    Listing(Arc<CompleteListing>),
}

/// A kept answer with the end of its freshness, and its size as it came.
#[derive(Clone)]
struct AnswerCacheEntry {
    answer: CachedAnswer,
    until: Instant,
    bytes: usize,
}

/// The key of a kept answer. `identity` is `None` for a public one.
#[derive(PartialEq, Eq)]
struct AnswerCacheKey {
    server: Box<str>,
    method: Box<str>,
    params: Box<str>,
    caller: Box<str>,
    identity: Option<CacheIdentity>,
}

/// The same key, borrowed, so that a lookup does not allocate. Both must hash alike.
#[derive(Hash)]
struct AnswerCacheKeyRef<'a> {
    server: &'a str,
    method: &'a str,
    params: &'a str,
    caller: &'a str,
    identity: Option<CacheIdentity>,
}

impl Hash for AnswerCacheKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { server, method, params, caller, identity } = self;
        AnswerCacheKeyRef { server, method, params, caller, identity: *identity }.hash(state);
    }
}

impl Equivalent<AnswerCacheKey> for AnswerCacheKeyRef<'_> {
    fn equivalent(&self, key: &AnswerCacheKey) -> bool {
        (self.identity == key.identity && *self.method == *key.method && *self.params == *key.params)
            && (*self.caller == *key.caller && *self.server == *key.server)
    }
}

/// Weighs an answer by its bytes and those of its key. Each weighs at least the share (`least`) by which the
/// bound on the bytes also bounds the number of answers.
#[derive(Clone)]
struct AnswerCacheWeighter {
    least: u64,
}

impl Weighter<AnswerCacheKey, AnswerCacheEntry> for AnswerCacheWeighter {
    fn weight(&self, key: &AnswerCacheKey, held: &AnswerCacheEntry) -> u64 {
        let key = key.server.len() + key.method.len() + key.params.len() + key.caller.len();
        u64::try_from(key + held.bytes).unwrap_or(u64::MAX).max(self.least)
    }
}

impl Default for AnswerCache {
    /// Up to 16 MiB and a thousand answers.
    fn default() -> Self {
        Self::bounded(16 << 20, 1000)
    }
}

impl AnswerCache {
    /// Makes a cache with bounds on the bytes of all answers, as they came, and on their number. Both are at
    /// least 1.
    #[must_use]
    pub fn bounded(bytes: usize, answers: usize) -> Self {
        let (answers, bytes) = (answers.max(1), u64::try_from(bytes).unwrap_or(u64::MAX).max(1));
        let weigher =
            AnswerCacheWeighter { least: (bytes / u64::try_from(answers).unwrap_or(u64::MAX)).max(1) };
        let (hasher, lifecycle) = (RandomState::new(), DefaultLifecycle::default());
        // One shard: with several, the bound of each would be what one answer can have.
        let options =
            OptionsBuilder::new().shards(1).estimated_items_capacity(answers).weight_capacity(bytes).build();
        let slots = match options {
            Ok(options) => Slots::with_options(options, weigher, hasher, lifecycle),
            Err(_) => Slots::with(answers, bytes, weigher, hasher, lifecycle),
        };
        Self { slots, hashes: (RandomState::new(), RandomState::new()), changes: AtomicU64::new(0) }
    }

    /// Returns how many answers are kept, fresh or not.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether no answer is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Forgets all answers. Those that are on their way at this moment are not kept either.
    pub fn clear(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.slots.clear();
    }

    /// Returns the identity of somebody who sends these values.
    pub(crate) fn identity(&self, parts: &[&[u8]]) -> CacheIdentity {
        CacheIdentity(self.hashes.0.hash_one(parts), self.hashes.1.hash_one(parts))
    }

    /// Returns a fresh answer: one for this identity, else a public one.
    pub(crate) fn find(&self, asked: &AnswerCacheQuery<'_>, now: Instant) -> Option<CachedAnswer> {
        let find = |identity| {
            let held = self.slots.get(&asked.key_for(identity))?;
            (now < held.until).then_some(held.answer)
        };
        find(Some(asked.identity)).or_else(|| find(None))
    }

    /// Returns the number of changes so far, to be taken before a request is sent and given to
    /// [`keep`](Self::keep) with its answer.
    pub(crate) fn change_count(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Keeps an answer that came now, for as long as `hint` says, unless something has changed since the
    /// request was sent. A change in the middle of this call removes the answer again.
    pub(crate) fn keep(
        &self,
        asked: &AnswerCacheQuery<'_>,
        answer: CachedAnswer,
        bytes: usize,
        hint: CacheHint,
        (changes, now): (u64, Instant),
    ) {
        let Some(until) = now.checked_add(hint.ttl) else { return };
        let identity = (hint.scope == CacheScope::Private).then_some(asked.identity);
        let AnswerCacheQuery { server, method, params, caller, .. } = *asked;
        let key = AnswerCacheKey {
            server: server.into(),
            method: method.into(),
            params: params.into(),
            caller: caller.into(),
            identity,
        };
        if self.change_count() == changes {
            self.slots.insert(key, AnswerCacheEntry { answer, until, bytes });
        }
        // A change that came in between has found nothing to undo.
        if self.change_count() != changes {
            self.slots.remove(&asked.key_for(identity));
        }
    }

    /// Removes what a change at a server makes stale, for whomever it was kept.
    pub(crate) fn invalidate(&self, server: &str, change: &ChangeNotification) {
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.slots.retain(|key, _| *key.server != *server || !change.invalidates(&key.method, &key.params));
    }
}

impl<'a> AnswerCacheQuery<'a> {
    fn key_for(&self, identity: Option<CacheIdentity>) -> AnswerCacheKeyRef<'a> {
        let Self { server, method, params, caller, .. } = *self;
        AnswerCacheKeyRef { server, method, params, caller, identity }
    }
}

/// How much there is, and nothing of it.
impl fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnswerCache")
            .field("answers", &self.len())
            .field("bytes", &self.slots.weight())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const HINT: CacheHint = CacheHint { ttl: Duration::from_secs(60), scope: CacheScope::Private };
    const PUBLIC: CacheHint = CacheHint { scope: CacheScope::Public, ..HINT };

    fn question<'a>(cache: &AnswerCache, who: &'static str) -> AnswerCacheQuery<'a> {
        let identity = cache.identity(&[who.as_bytes()]);
        AnswerCacheQuery { server: "s", method: "tools/list", params: "{}", caller: "[]", identity }
    }

    fn text(text: &str) -> CachedAnswer {
        CachedAnswer::Result(RawValue::from_string(text.to_owned()).unwrap().into())
    }

    fn keep(cache: &AnswerCache, asked: &AnswerCacheQuery<'_>, hint: CacheHint, now: Instant) {
        cache.keep(asked, text("{}"), 2, hint, (cache.change_count(), now));
    }

    #[test]
    fn an_answer_is_served_while_it_is_fresh_and_not_a_moment_longer() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        let asked = question(&cache, "me");
        keep(&cache, &asked, HINT, now);
        assert!(cache.find(&asked, now + Duration::from_millis(59_999)).is_some());
        assert!(cache.find(&asked, now + Duration::from_secs(60)).is_none());
    }

    #[test]
    fn every_part_of_the_key_keeps_answers_apart() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        let asked = question(&cache, "me");
        keep(&cache, &asked, HINT, now);
        assert!(cache.find(&asked, now).is_some());
        for other in [
            AnswerCacheQuery { server: "t", ..asked },
            AnswerCacheQuery { method: "prompts/list", ..asked },
            AnswerCacheQuery { params: r#"{"cursor":"2"}"#, ..asked },
            AnswerCacheQuery { caller: "[1]", ..asked },
            question(&cache, "another"),
        ] {
            assert!(cache.find(&other, now).is_none(), "{other:?}");
        }
    }

    #[test]
    fn a_public_answer_is_for_every_identity_and_for_no_other_caller() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        let asked = question(&cache, "me");
        keep(&cache, &asked, PUBLIC, now);
        let another = question(&cache, "another");
        assert!(cache.find(&another, now).is_some());
        assert!(cache.find(&AnswerCacheQuery { caller: "[1]", ..another }, now).is_none());
    }

    #[test]
    fn a_change_undoes_what_is_kept_of_that_server_for_everybody() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        let (mine, theirs) = (question(&cache, "me"), question(&cache, "another"));
        let elsewhere = AnswerCacheQuery { server: "t", ..mine };
        let prompts = AnswerCacheQuery { method: "prompts/list", ..mine };
        for asked in [&mine, &theirs, &elsewhere, &prompts] {
            keep(&cache, asked, HINT, now);
        }
        cache.invalidate("s", &ChangeNotification::Tools);
        assert!(cache.find(&mine, now).is_none() && cache.find(&theirs, now).is_none());
        assert!(cache.find(&elsewhere, now).is_some() && cache.find(&prompts, now).is_some());
    }

    #[test]
    fn an_answer_that_was_on_its_way_when_something_changed_is_not_kept() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        let asked = question(&cache, "me");
        let before = cache.change_count();
        cache.invalidate("s", &ChangeNotification::Tools);
        cache.keep(&asked, text("{}"), 2, HINT, (before, now));
        assert!(cache.is_empty());
    }

    #[test]
    fn there_is_a_bound_on_bytes_and_on_answers() {
        let now = Instant::now();
        let fill = |cache: &AnswerCache, bytes| {
            for number in 0..200 {
                let params = format!("{{\"cursor\":{number}}}");
                let asked = AnswerCacheQuery { params: &params, ..question(cache, "me") };
                cache.keep(&asked, text("{}"), bytes, HINT, (cache.change_count(), now));
            }
            cache.len()
        };
        let few = fill(&AnswerCache::bounded(1 << 20, 10), 2);
        assert!((1..=10).contains(&few), "{few}");
        let small = fill(&AnswerCache::bounded(10_000, 1000), 1000);
        assert!((1..=9).contains(&small), "{small}");
        assert_eq!(fill(&AnswerCache::bounded(500, 1000), 1000), 0, "larger than all there is");
    }

    #[test]
    fn debug_shows_nothing_of_what_is_kept() {
        let (cache, now) = (AnswerCache::default(), Instant::now());
        keep(&cache, &question(&cache, "secret"), HINT, now);
        assert!(format!("{cache:?}").starts_with("AnswerCache { answers: 1, bytes: "), "{cache:?}");
    }
}
