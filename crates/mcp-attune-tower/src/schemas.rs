//! Which headers a caller's tools declare, and what their results are like, known without asking for every call.
//!
//! 1. Listings are kept for each identity, at least for `ttl`; one that the server calls public serves everyone.
//! 2. On a miss the tools are listed once, in the caller's name; others who miss meanwhile wait for that listing, each for
//!    `budget` at most. A listing that takes longer goes on, for those who come later.
//! 3. So many listings run at a time for all identities together, so that callers cannot make the server list for them alone.
//! 4. Before a refusal, a listing older than `recheck` is fetched again: at most once a second for each identity.
//! 5. A server that does not list its tools, or not in a way that ends, fails no call. Where a listing cannot be had *now*, a
//!    call that names `Mcp-Param-*` headers, or whose tool declared some before, must not pass unchecked: its caller could
//!    have made the listing slow ([`ListingAvailability::NotNow`]).
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

/// How listings are kept. Rules: H10, H11.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaCacheSettings {
    /// How long a listing counts, whatever the server says.
    pub ttl: Duration,
    /// How old a listing may be that a refusal rests on.
    pub recheck: Duration,
    /// How long listing may take.
    pub budget: Duration,
    /// Headers that tell callers apart, beside `Authorization` and `Cookie`.
    pub identity_headers: Vec<HeaderName>,
    /// Whether the query string tells callers apart, too: for servers that take a key from it. Everybody can write another
    /// one with each request, so each may cost a listing.
    pub identity_query: bool,
    /// Refuse a call whose schema cannot be had, instead of letting it pass unchecked.
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

/// Not more than one listing in this time for one identity.
const MIN_LISTING_INTERVAL: Duration = Duration::from_secs(1);
/// How many bytes all listings may take together.
const MAX_SCHEMA_CACHE_BYTES: usize = 128 << 20;
/// How many identities are known at once.
const MAX_IDENTITIES: usize = 10_000;
/// How many of them go at once when there are too many: to look for the oldest takes a look at all.
const EVICTION_BATCH: usize = MAX_IDENTITIES / 16;
/// How many listings run at a time for all identities together.
const MAX_LISTINGS_AT_A_TIME: usize = 16;
/// How long a listing may take that nobody waits for any more.
const MAX_LISTING_TIME: Duration = Duration::from_secs(60);
/// How many tools are remembered for having declared headers; beyond it every tool counts as one of them.
const MAX_DECLARING_TOOLS: usize = 100_000;

/// Who is asking, kept only as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IdentityHash(u64, u64);

/// The hash of what is a hash already.
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
    /// The server does not list its tools, or not in a way that ends.
    Never,
    /// The listing failed, or takes too long: it may be there in a moment.
    NotNow,
}

/// What came of asking a server for its tools.
#[derive(Debug)]
pub(crate) enum ListToolsOutcome {
    /// All of them, and whether every caller gets the same.
    Whole(Box<ToolIndex>, bool),
    /// The server does not list them, or not in a way that ends.
    Never,
    /// It could not be asked, or could not answer.
    Failed,
}

#[derive(Debug)]
struct IdentityEntry {
    listing: Option<Arc<ToolIndex>>,
    /// When the listing was made.
    made: Instant,
    /// When the tools were last asked for.
    asked: Option<Instant>,
    /// Whether the server said then that it does not list them.
    never: bool,
    /// Held while the tools are being asked for.
    flight: Arc<tokio::sync::Mutex<()>>,
}

/// The listings of one mount.
#[derive(Debug)]
pub(crate) struct ToolSchemaCache {
    settings: SchemaCacheSettings,
    keys: (RandomState, RandomState),
    /// Who says nothing that tells callers apart.
    anonymous: IdentityHash,
    state: Mutex<SchemaCacheState>,
    interest: ListingInspector,
    /// Whether bindings and templates fit the tools.
    fitting: ListingFitCheck,
    /// Bounds the listings that run.
    listings: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct SchemaCacheState {
    entries: HashMap<IdentityHash, IdentityEntry, BuildHasherDefault<PrehashedHasher>>,
    public: Option<(Arc<ToolIndex>, Instant)>,
    weights: ListingWeights,
    /// The tools that were ever listed with headers, by anybody.
    declaring: HashSet<u64>,
}

/// What all listings of identities weigh together, each counted once, however many share it.
#[derive(Debug, Default)]
struct ListingWeights {
    /// How many identities have a listing, by where it lies in memory.
    shared: HashMap<usize, usize>,
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

    /// Whether a header, named in lower case, tells callers apart because the operator says so.
    pub(crate) fn is_identity_header(&self, name: &str) -> bool {
        self.settings.identity_headers.iter().any(|header| header == name)
    }

    /// Who sent a request: their credentials, cookies, the headers that the operator named, and the query where they said so.
    pub(crate) fn identity(&self, parts: &request::Parts) -> IdentityHash {
        self.stated_identity(&parts.headers, &parts.uri).unwrap_or(self.anonymous)
    }

    /// The same as a number; None where nothing tells callers apart.
    pub(crate) fn identity_number(&self, headers: &HeaderMap, uri: &Uri) -> Option<u64> {
        self.stated_identity(headers, uri).map(|IdentityHash(number, _)| number)
    }

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

    /// The listing of an identity, where there is one that is recent enough.
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

    /// Whether a tool was ever listed with headers, by anybody.
    fn ever_declared(&self, tool: &str) -> bool {
        let state = self.state();
        state.declaring.len() >= MAX_DECLARING_TOOLS || state.declaring.contains(&hash_of_name(tool))
    }

    /// What is known of a caller's tools, asking for them where nothing is.
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

    /// A listing not older than `age`, or the newest there is where it is too soon to ask again.
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

    /// Keeps what came of a listing.
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

    /// Learns from a listing that passes by, if it is whole: what it says, and whether everybody gets the same.
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

    /// The same for a listing that was learned from before.
    pub(crate) fn learn_again(&self, identity: IdentityHash, listing: Arc<ToolIndex>, public: bool) {
        self.state().keep_shared(identity, listing, public);
    }

    /// Holds bindings and templates against the first listing that comes. `whole`: these are all of its pages. Rules: C9, F6.
    pub(crate) fn check_listing_pages<'a>(&self, pages: impl IntoIterator<Item = &'a [u8]>, whole: bool) {
        self.fitting.check_first_listing(&self.interest, pages, whole);
    }

    /// Holds templates that have changed against that listing. Rules: F6.
    pub(crate) fn recheck_changed_templates(&self) {
        self.fitting.recheck_kept_listing(&self.interest);
    }

    /// The server said that its tools changed.
    pub(crate) fn forget(&self, identity: IdentityHash) {
        let mut state = self.state();
        state.public = None;
        // When it was last asked for stays: a server that says so again and again is not asked more often.
        state.set(identity, None);
    }

    fn state(&self) -> MutexGuard<'_, SchemaCacheState> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells callers apart, hashed with two keys.
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

    /// Notes that the tools are asked for now.
    ///
    /// # Errors
    ///
    /// Where it is too soon for that: whether the server said that it does not list them.
    fn try_start_listing(&mut self, identity: IdentityHash) -> Result<(), bool> {
        let Some(entry) = self.entries.get_mut(&identity) else { return Ok(()) };
        if entry.asked.is_some_and(|asked| asked.elapsed() < MIN_LISTING_INTERVAL) {
            return Err(entry.never);
        }
        entry.asked = Some(Instant::now());
        Ok(())
    }

    fn keep(&mut self, identity: IdentityHash, listing: ToolIndex, public: bool) -> Arc<ToolIndex> {
        let listing = self.deduplicate(listing);
        self.keep_shared(identity, listing.clone(), public);
        listing
    }

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

    /// Puts a listing in the place of the one that an identity has.
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

    /// The same listing of another identity, where there is one: most callers see the same tools.
    fn deduplicate(&self, listing: ToolIndex) -> Arc<ToolIndex> {
        let public = self.public.iter().map(|(listing, _)| listing);
        let recent = self.entries.values().filter_map(|entry| entry.listing.as_ref()).take(8);
        let same = public.chain(recent).find(|known| ***known == listing).cloned();
        same.unwrap_or_else(|| Arc::new(listing))
    }

    /// Drops the identities whose listings are oldest.
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
