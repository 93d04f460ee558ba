//! The cache of tool listings: which headers a caller's tools declare, and what their results are like, known
//! without asking the server on every call.
//!
//! 1. Listings are kept for each identity, at least for `ttl`; one that the server calls public serves
//!    everyone.
//! 2. On a miss the tools are listed once, in the caller's name; others who miss meanwhile wait for that
//!    listing, each for `budget` at most. A listing that takes longer goes on, for those who come later.
//! 3. The number of listings that run at a time is bounded for all identities together, so that callers cannot
//!    make the server do nothing but list.
//! 4. Before a refusal, a listing older than `recheck` is fetched again: at most once a second for each
//!    identity.
//! 5. A server that does not list its tools, or not in a way that ends, fails no call. If a listing cannot be
//!    had *now*, a call that names `Mcp-Param-*` headers, or whose tool declared some before, must not pass
//!    unchecked: its caller could have made the listing slow ([`ListingAvailability::NotNow`]).
//! 6. Identities are kept as keyed hashes, and all listings together have a bound.
//!
//! Rules: C9, F13, H10, H11.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::{HeaderMap, HeaderName, Uri, header, request};
use mcp_attune::exchange::listing::{ToolIndex, hash_of_name};
use mcp_attune::exchange::{ListingAvailability, ListingRecency};
use mcp_attune_wire::message::Message;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout, timeout_at};

use crate::fitting::ListingFitCheck;
use crate::listing_inspector::ListingInspector;

/// How listings of tools are cached, and what tells callers apart whose listings may differ.
///
/// Rules: H10, H11.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaCacheSettings {
    /// How long a listing is used, whatever the server says about caching. 30 seconds by default.
    pub ttl: Duration,
    /// How old a listing may be that a refusal rests on; an older one is fetched again first, so that a tool
    /// that has just changed is not held against its callers. One second by default.
    pub recheck: Duration,
    /// How long one call waits for a listing. Then the call is decided without it, and the listing goes on in
    /// the background. Two seconds by default.
    pub budget: Duration,
    /// Headers that tell callers apart, beside `Authorization` and `Cookie`. Callers whose values differ have
    /// separate listings. `X-Api-Key` by default.
    pub identity_headers: Vec<HeaderName>,
    /// Whether the query string tells callers apart, too: for servers that take a key from it. Off by default,
    /// because everybody can write another query with each request, and each may cost a listing.
    pub identity_query: bool,
    /// Whether a call is refused if the schema of its tool cannot be had, instead of being forwarded unchecked.
    /// Off by default.
    pub refuse_unknown: bool,
}

impl Default for SchemaCacheSettings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(30),
            recheck: Duration::from_secs(1),
            budget: Duration::from_secs(2),
            identity_headers: vec![HeaderName::from_static("x-api-key")],
            identity_query: false,
            refuse_unknown: false,
        }
    }
}

/// Minimum time between two listings for one identity.
const MIN_LISTING_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum weight, in estimated bytes, of the listings of all identities together. At the limit the oldest are
/// evicted.
const MAX_SCHEMA_CACHE_BYTES: usize = 128 << 20;
/// Maximum number of identities that are known at once. At the limit the oldest are evicted.
const MAX_IDENTITIES: usize = 10_000;
/// How many identities are evicted at once when there are too many, because finding the oldest takes a look at
/// all.
const EVICTION_BATCH: usize = MAX_IDENTITIES / 16;
/// Maximum number of listings that run at a time, for all identities of a mount together.
const MAX_LISTINGS_AT_A_TIME: usize = 16;
/// Maximum time that a listing may take, whether anybody waits for it or not.
const MAX_LISTING_TIME: Duration = Duration::from_secs(60);
/// Maximum number of tools that are remembered for having declared headers. Beyond it every tool counts as one
/// of them, which errs on the safe side (rule 5).
const MAX_DECLARING_TOOLS: usize = 100_000;

/// Who is asking: two keyed hashes of their credentials, of which nothing can be recovered. The keys are drawn
/// for each cache, so the value means nothing outside of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IdentityHash(u64, u64);

/// A hasher for keys that are uniform hashes already; it only mixes their two halves.
#[derive(Default)]
struct PrehashedHasher(u64);

impl Hasher for PrehashedHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = self.0.rotate_left(5) ^ number;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Why there is no listing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NoListingReason {
    /// The server does not list its tools, or not in a way that ends. Calls are forwarded unchecked.
    Never,
    /// The listing failed, or takes too long. It may be there in a moment, so rule 5 applies.
    NotNow,
}

/// What came of asking a server for all pages of its tools.
#[derive(Debug)]
pub(crate) enum ListToolsOutcome {
    /// All tools, and whether the listing is public: the same for every caller.
    Whole(Box<ToolIndex>, bool),
    /// The server does not list them, or not in a way that ends.
    Never,
    /// The server could not be asked, or could not answer. It is worth asking again.
    Failed,
}

/// What is known for one identity.
#[derive(Debug)]
struct IdentityEntry {
    /// The latest listing. `None` before the first one, and after the server said that its tools changed.
    listing: Option<Arc<ToolIndex>>,
    /// When `listing` was set. Age and eviction go by it.
    made: Instant,
    /// When the server was last asked for this identity, successfully or not. Rule 4 goes by it.
    asked: Option<Instant>,
    /// Whether the last listing ended in [`ListToolsOutcome::Never`].
    never: bool,
    /// Held while the tools are being listed for this identity, so that all others who need them wait for that
    /// listing.
    flight: Arc<tokio::sync::Mutex<()>>,
}

/// The cache of listings of one mount.
///
/// The state is behind a mutex that is never held across an await. `find_or_list` is the way in for calls,
/// `learn` for listings that pass by on their way to a caller.
#[derive(Debug)]
pub(crate) struct ToolSchemaCache {
    settings: SchemaCacheSettings,
    /// The keys of the two hashes that make an identity.
    keys: (RandomState, RandomState),
    /// The identity of all requests that state nothing which tells callers apart.
    anonymous: IdentityHash,
    state: Mutex<SchemaCacheState>,
    /// Reads pages of listings.
    interest: ListingInspector,
    /// Checks whether bindings and templates fit the tools, once.
    fitting: ListingFitCheck,
    /// Bounds the listings that run at a time (rule 3).
    listings: Arc<Semaphore>,
}

/// The part of the cache that changes.
#[derive(Debug, Default)]
struct SchemaCacheState {
    entries: HashMap<IdentityHash, IdentityEntry, BuildHasherDefault<PrehashedHasher>>,
    /// The latest listing that the server called public, and when it came. It serves all identities without one
    /// of their own.
    public: Option<(Arc<ToolIndex>, Instant)>,
    /// The weight of the listings in `entries`.
    weights: ListingWeights,
    /// Hashes of the names of all tools that were ever listed with headers, by anybody (rule 5).
    declaring: HashSet<u64>,
}

/// The weight of the listings of all identities together, where a listing that several identities share counts
/// once.
#[derive(Debug, Default)]
struct ListingWeights {
    /// How many identities have a listing, by its address in memory.
    shared: HashMap<usize, usize>,
    /// The sum of the weights, in estimated bytes.
    total: usize,
}

impl ListingWeights {
    fn add(&mut self, listing: &Arc<ToolIndex>) {
        let count = self.shared.entry(Arc::as_ptr(listing) as usize).or_default();
        *count += 1;
        if *count == 1 {
            self.total += listing.weight();
        }
    }

    fn remove(&mut self, listing: &Arc<ToolIndex>) {
        let place = Arc::as_ptr(listing) as usize;
        let Some(count) = self.shared.get_mut(&place) else { return };
        *count -= 1;
        if *count == 0 {
            self.shared.remove(&place);
            self.total = self.total.saturating_sub(listing.weight());
        }
    }
}

impl ToolSchemaCache {
    pub(crate) fn new(settings: SchemaCacheSettings, interest: ListingInspector) -> Self {
        let keys = (RandomState::new(), RandomState::new());
        let anonymous = hash_identity(&keys, []);
        let listings = Arc::new(Semaphore::new(MAX_LISTINGS_AT_A_TIME));
        let (state, fitting) = (Mutex::default(), ListingFitCheck::default());
        Self { settings, keys, anonymous, state, interest, fitting, listings }
    }

    pub(crate) fn inspector(&self) -> &ListingInspector {
        &self.interest
    }

    /// Returns whether a header, named in lower case, tells callers apart because the operator says so.
    pub(crate) fn is_identity_header(&self, name: &str) -> bool {
        self.settings.identity_headers.iter().any(|header| header == name)
    }

    /// Returns who sent a request, by their credentials, cookies, the headers that the operator named, and the
    /// query if the operator says so.
    pub(crate) fn identity(&self, parts: &request::Parts) -> IdentityHash {
        self.stated_identity(&parts.headers, &parts.uri).unwrap_or(self.anonymous)
    }

    /// Returns a hash of the same identity as a number, or `None` if the request states nothing that tells
    /// callers apart.
    pub(crate) fn identity_number(&self, headers: &HeaderMap, uri: &Uri) -> Option<u64> {
        self.stated_identity(headers, uri).map(|IdentityHash(number, _)| number)
    }

    /// Hashes what a request states of its caller. `None` if it states nothing.
    fn stated_identity(&self, headers: &HeaderMap, uri: &Uri) -> Option<IdentityHash> {
        let (always, named) = ([&header::AUTHORIZATION, &header::COOKIE], &self.settings.identity_headers);
        let query = uri.query().filter(|query| self.settings.identity_query && !query.is_empty());
        let query = query.map(|query| (0, query.as_bytes()));
        let told = |name: &HeaderName| headers.contains_key(name);
        if query.is_none() && !always.into_iter().any(told) && !named.iter().any(told) {
            return None;
        }
        // The number parts the values of one header from those of the next.
        let values = always.into_iter().chain(named).enumerate().flat_map(|(number, name)| {
            headers.get_all(name).into_iter().map(move |value| (number + 1, value.as_bytes()))
        });
        Some(hash_identity(&self.keys, query.into_iter().chain(values)))
    }

    /// Returns the listing of an identity if there is one that is recent enough, its own or a public one. Never
    /// asks the server.
    pub(crate) fn cached_listing(
        &self,
        identity: IdentityHash,
        recency: ListingRecency,
    ) -> Option<Arc<ToolIndex>> {
        self.state().find(identity, self.max_age(recency))
    }

    fn max_age(&self, recency: ListingRecency) -> Duration {
        match recency {
            ListingRecency::AtHand | ListingRecency::Usual => self.settings.ttl,
            ListingRecency::Recent => self.settings.recheck,
        }
    }

    /// Returns whether a tool was ever listed with headers, by anybody. `true` for all tools once too many
    /// were.
    fn ever_declared(&self, tool: &str) -> bool {
        let state = self.state();
        state.declaring.len() >= MAX_DECLARING_TOOLS || state.declaring.contains(&hash_of_name(tool))
    }

    /// Returns what is known of a caller's tools, and lists them with `list` if nothing recent enough is.
    /// `tool` is the one that is called. Waits for `budget` at most; for [`ListingRecency::AtHand`] the server
    /// is not asked and nothing is waited for.
    pub(crate) async fn find_or_list<F>(
        self: &Arc<Self>,
        identity: IdentityHash,
        tool: &str,
        recency: ListingRecency,
        list: impl FnOnce() -> F,
    ) -> ListingAvailability
    where
        F: Future<Output = ListToolsOutcome> + Send + 'static,
    {
        if recency == ListingRecency::AtHand {
            return self
                .cached_listing(identity, recency)
                .map_or(ListingAvailability::Never, ListingAvailability::Listed);
        }
        match self.fresh_listing(identity, self.max_age(recency), list).await {
            Ok(listing) => ListingAvailability::Listed(listing),
            Err(NoListingReason::Never) => ListingAvailability::Never,
            Err(NoListingReason::NotNow) => {
                ListingAvailability::NotNow { declared_before: self.ever_declared(tool) }
            }
        }
    }

    /// Returns a listing not older than `age`, or the newest within `ttl` if it is too soon to ask the server
    /// again.
    ///
    /// In order: the cache is asked; the lock of this identity is taken, behind whoever lists already; the
    /// cache is asked again; the interval since the last listing is checked; a permit is taken; and the listing
    /// runs in a task of its own, which holds lock and permit until it is over. Dropping the future, or running
    /// out of `budget`, therefore does not stop a listing that has begun.
    async fn fresh_listing<F>(
        self: &Arc<Self>,
        identity: IdentityHash,
        age: Duration,
        list: impl FnOnce() -> F,
    ) -> Result<Arc<ToolIndex>, NoListingReason>
    where
        F: Future<Output = ListToolsOutcome> + Send + 'static,
    {
        if let Some(listing) = self.state().find(identity, age) {
            return Ok(listing);
        }
        let until = Instant::now() + self.settings.budget;
        let slow = |_| {
            tracing::warn!(budget = ?self.settings.budget, "listing the tools takes too long");
            NoListingReason::NotNow
        };
        let flight = self.state().listing_lock(identity);
        let held = timeout_at(until, flight.lock_owned()).await.map_err(slow)?;
        // Whoever held it before may have brought what is wanted.
        if let Some(listing) = self.state().find(identity, age) {
            return Ok(listing);
        }
        let asked = self.state().try_start_listing(identity);
        if let Err(never) = asked {
            let newest = self.state().find(identity, self.settings.ttl);
            return newest.ok_or(if never { NoListingReason::Never } else { NoListingReason::NotNow });
        }
        let permit = timeout_at(until, Arc::clone(&self.listings).acquire_owned()).await.map_err(slow)?;
        let (schemas, listing) = (Arc::clone(self), list());
        // In a task of its own: whoever waits may go, or lose patience, and others want it too.
        let listing = tokio::spawn(async move {
            let _held = (held, permit);
            let listed = timeout(MAX_LISTING_TIME, listing).await.unwrap_or(ListToolsOutcome::Failed);
            schemas.store_outcome(identity, listed)
        });
        timeout_at(until, listing).await.map_err(slow)?.unwrap_or(Err(NoListingReason::NotNow))
    }

    /// Keeps what came of a listing, and returns what the call that waits for it gets.
    fn store_outcome(
        &self,
        identity: IdentityHash,
        listed: ListToolsOutcome,
    ) -> Result<Arc<ToolIndex>, NoListingReason> {
        let known = match listed {
            ListToolsOutcome::Whole(listing, public) => {
                return Ok(self.state().keep(identity, *listing, public));
            }
            ListToolsOutcome::Never => NoListingReason::Never,
            ListToolsOutcome::Failed => NoListingReason::NotNow,
        };
        tracing::warn!(why = ?known, "the tools could not be listed");
        if let Some(entry) = self.state().entries.get_mut(&identity) {
            entry.never = known == NoListingReason::Never;
        }
        Err(known)
    }

    /// Learns from an answer to a caller's own `tools/list` that passes by: the names of tools from any page,
    /// and a listing that is complete in one page as a whole. Returns that listing and whether it is public, or
    /// `None` if there is none to keep.
    pub(crate) fn learn(
        &self,
        identity: IdentityHash,
        answer: &Message<'_>,
    ) -> Option<(Arc<ToolIndex>, bool)> {
        let page = self.interest.read_listing_page(answer);
        if let Some(page) = page.as_ref().filter(|_| self.interest.needs_fit_check()) {
            self.check_listing_pages([answer.text().as_bytes()], page.next.is_none());
        }
        let page = page.filter(|page| page.next.is_none())?;
        let mut listing = ToolIndex::default();
        listing.add(&page);
        Some((self.state().keep(identity, listing, page.public), page.public))
    }

    /// Learns from a listing that was parsed before and found again in the memo.
    pub(crate) fn learn_again(&self, identity: IdentityHash, listing: Arc<ToolIndex>, public: bool) {
        self.state().keep_shared(identity, listing, public);
    }

    /// Checks bindings and templates against the first listing that comes. `whole` says that these are all of
    /// its pages.
    ///
    /// Rules: C9, F6.
    pub(crate) fn check_listing_pages<'a>(&self, pages: impl IntoIterator<Item = &'a [u8]>, whole: bool) {
        self.fitting.check_first_listing(&self.interest, pages, whole);
    }

    /// Checks templates that have changed since against that listing.
    ///
    /// Rules: F6.
    pub(crate) fn recheck_changed_templates(&self) {
        self.fitting.recheck_kept_listing(&self.interest);
    }

    /// Forgets the listing of an identity, and the public one, because the server sent
    /// `notifications/tools/list_changed`.
    pub(crate) fn forget(&self, identity: IdentityHash) {
        let mut state = self.state();
        state.public = None;
        // When it was last asked for stays: a server that says so again and again is not asked more often.
        state.set(identity, None);
    }

    /// Locks the state. It must not be held across an await.
    fn state(&self) -> MutexGuard<'_, SchemaCacheState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Hashes what tells callers apart with two keys, so that a collision of one 64-bit hash does not mix two
/// callers up.
fn hash_identity<'v>(
    keys: &(RandomState, RandomState),
    told: impl IntoIterator<Item = (usize, &'v [u8])>,
) -> IdentityHash {
    let mut hashers = (keys.0.build_hasher(), keys.1.build_hasher());
    for part in told {
        part.hash(&mut hashers.0);
        part.hash(&mut hashers.1);
    }
    IdentityHash(hashers.0.finish(), hashers.1.finish())
}

impl SchemaCacheState {
    /// Returns a listing not older than `age`: the identity's own, else the public one.
    fn find(&self, identity: IdentityHash, age: Duration) -> Option<Arc<ToolIndex>> {
        let young = |made: &Instant| made.elapsed() <= age;
        let own = self
            .entries
            .get(&identity)
            .filter(|entry| young(&entry.made))
            .and_then(|entry| entry.listing.clone());
        let public =
            || self.public.as_ref().filter(|(_, made)| young(made)).map(|(listing, _)| listing.clone());
        own.or_else(public)
    }

    /// Returns the lock that is held while an identity's tools are listed. Makes an entry for the identity if
    /// there is none, and evicts the oldest ones if there are too many.
    fn listing_lock(&mut self, identity: IdentityHash) -> Arc<tokio::sync::Mutex<()>> {
        if self.entries.len() >= MAX_IDENTITIES && !self.entries.contains_key(&identity) {
            self.evict(EVICTION_BATCH);
        }
        let fresh = || IdentityEntry {
            listing: None,
            made: Instant::now(),
            asked: None,
            never: false,
            flight: Arc::default(),
        };
        self.entries.entry(identity).or_insert_with(fresh).flight.clone()
    }

    /// Notes that the server is asked now.
    ///
    /// # Errors
    ///
    /// It was asked less than [`MIN_LISTING_INTERVAL`] ago. The value says whether the server then turned out
    /// not to list its tools.
    fn try_start_listing(&mut self, identity: IdentityHash) -> Result<(), bool> {
        let Some(entry) = self.entries.get_mut(&identity) else { return Ok(()) };
        if entry.asked.is_some_and(|asked| asked.elapsed() < MIN_LISTING_INTERVAL) {
            return Err(entry.never);
        }
        entry.asked = Some(Instant::now());
        Ok(())
    }

    /// Keeps a listing for an identity, shared with others who have the same one, and returns it.
    fn keep(&mut self, identity: IdentityHash, listing: ToolIndex, public: bool) -> Arc<ToolIndex> {
        let listing = self.deduplicate(listing);
        self.keep_shared(identity, listing.clone(), public);
        listing
    }

    /// Keeps a listing for an identity, and as the public one if it is, remembers which tools declare headers,
    /// and evicts old listings until the bound on their weight holds.
    fn keep_shared(&mut self, identity: IdentityHash, listing: Arc<ToolIndex>, public: bool) {
        for tool in listing.tools_with_headers() {
            if self.declaring.len() < MAX_DECLARING_TOOLS {
                self.declaring.insert(hash_of_name(tool));
            }
        }
        if public {
            self.public = Some((listing.clone(), Instant::now()));
        }
        let _ = self.listing_lock(identity);
        self.set(identity, Some(listing));
        while self.entries.len() > 1 && self.weights.total > MAX_SCHEMA_CACHE_BYTES {
            self.evict(1);
        }
    }

    /// Replaces the listing of an identity and adjusts the weights.
    fn set(&mut self, identity: IdentityHash, listing: Option<Arc<ToolIndex>>) {
        let Some(entry) = self.entries.get_mut(&identity) else { return };
        if let Some(listing) = &listing {
            self.weights.add(listing);
        }
        entry.made = Instant::now();
        if let Some(old) = std::mem::replace(&mut entry.listing, listing) {
            self.weights.remove(&old);
        }
    }

    /// Returns the same listing of another identity, if it is found among the public one and a few others: most
    /// callers see the same tools.
    fn deduplicate(&self, listing: ToolIndex) -> Arc<ToolIndex> {
        let public = self.public.iter().map(|(listing, _)| listing);
        let recent = self.entries.values().filter_map(|entry| entry.listing.as_ref()).take(8);
        let same = public.chain(recent).find(|known| ***known == listing).cloned();
        same.unwrap_or_else(|| Arc::new(listing))
    }

    /// Removes the `count` identities whose listings are oldest.
    fn evict(&mut self, count: usize) {
        let mut by_age: Vec<_> =
            self.entries.iter().map(|(identity, entry)| (entry.made, *identity)).collect();
        let count = count.min(by_age.len());
        if count < by_age.len() {
            by_age.select_nth_unstable_by_key(count, |(made, _)| *made);
        }
        for (_, identity) in by_age.into_iter().take(count) {
            if let Some(listing) = self.entries.remove(&identity).and_then(|entry| entry.listing) {
                self.weights.remove(&listing);
            }
        }
    }
}
