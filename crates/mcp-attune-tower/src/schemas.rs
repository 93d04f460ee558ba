//! Which headers a caller's tools declare, and what their results are like, known without asking for every call.
//!
//! 1. Listings are kept for each identity, at least for `ttl`; one that the server calls public serves everyone.
//! 2. On a miss the tools are listed once, in the caller's name; others who miss meanwhile wait for that listing.
//! 3. Before a refusal, a listing older than `recheck` is fetched again: at most once a second for each identity.
//! 4. What cannot be listed is unknown, for a second; no call fails for it.
//! 5. Identities are kept as keyed hashes, and all listings together have a bound.
//!
//! Rules: C9, F13, H10, H11.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::HeaderName;
use http::{header, request};
use mcp_attune::shape::Schema;
use mcp_attune_wire::message::Message;
use tokio::time::Instant;

use crate::listing::{Interest, Listing, Page, Tool};

/// How listings are kept. Rules: H10, H11.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchemaSettings {
    /// How long a listing counts, whatever the server says.
    pub ttl: Duration,
    /// How old a listing may be that a refusal rests on.
    pub recheck: Duration,
    /// How long listing may take.
    pub budget: Duration,
    /// Headers that tell callers apart, beside `Authorization` and `Cookie`.
    pub identity_headers: Vec<HeaderName>,
    /// Refuse a call whose schema cannot be had, instead of letting it pass unchecked.
    pub refuse_unknown: bool,
}

impl Default for SchemaSettings {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(30),
            recheck: Duration::from_secs(1),
            budget: Duration::from_secs(2),
            identity_headers: vec![HeaderName::from_static("x-api-key")],
            refuse_unknown: false,
        }
    }
}

/// A page is the hundredth at most.
pub(crate) const MAX_PAGES: usize = 100;
/// Not more than one listing in this time for one identity.
const PAUSE: Duration = Duration::from_secs(1);
/// How many bytes all listings may take together.
const MAX_WEIGHT: usize = 128 << 20;
/// How many identities are known at once.
const MAX_IDENTITIES: usize = 10_000;

/// Who is asking, kept only as a hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Identity(u64, u64);

/// The hash of what is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
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

/// What is known about the called tool.
#[derive(Debug)]
pub(crate) enum Known {
    /// A listing says so; none where the tool is not in it or declares nothing.
    Listed(Option<Tool>),
    /// The tools could not be listed.
    Unknown,
}

#[derive(Debug)]
struct Entry {
    listing: Option<Arc<Listing>>,
    /// When the listing was made.
    made: Instant,
    /// When the tools were last asked for.
    asked: Option<Instant>,
    /// Held while the tools are being asked for.
    flight: Arc<tokio::sync::Mutex<()>>,
}

/// The listings of one mount.
#[derive(Debug)]
pub(crate) struct Schemas {
    settings: SchemaSettings,
    keys: (RandomState, RandomState),
    /// Who says nothing that tells callers apart.
    anonymous: Identity,
    state: Mutex<State>,
    interest: Interest,
    /// Whether bindings and templates were held against a listing.
    held: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Identity, Entry, BuildHasherDefault<Hashed>>,
    public: Option<(Arc<Listing>, Instant)>,
}

impl Schemas {
    pub(crate) fn new(settings: SchemaSettings, interest: Interest) -> Self {
        let keys = (RandomState::new(), RandomState::new());
        let anonymous = identity(&keys, []);
        Self { settings, keys, anonymous, state: Mutex::default(), interest, held: AtomicBool::new(false) }
    }

    pub(crate) fn interest(&self) -> &Interest {
        &self.interest
    }

    pub(crate) fn refuses_unknown(&self) -> bool {
        self.settings.refuse_unknown
    }

    /// Whether a header, named in lower case, tells callers apart because the operator says so.
    pub(crate) fn is_identity(&self, name: &str) -> bool {
        self.settings.identity_headers.iter().any(|header| header == name)
    }

    /// Who sent a request: their credentials, cookies, query and the headers that the operator named.
    pub(crate) fn identity(&self, parts: &request::Parts) -> Identity {
        let (always, named) = ([&header::AUTHORIZATION, &header::COOKIE], &self.settings.identity_headers);
        let query = parts.uri.query().filter(|query| !query.is_empty()).map(|query| (0, query.as_bytes()));
        let told = |name: &HeaderName| parts.headers.contains_key(name);
        if query.is_none() && !always.into_iter().any(told) && !named.iter().any(told) {
            return self.anonymous;
        }
        // The number parts the values of one header from those of the next.
        let values = always.into_iter().chain(named).enumerate().flat_map(|(number, name)| {
            parts.headers.get_all(name).into_iter().map(move |value| (number + 1, value.as_bytes()))
        });
        identity(&self.keys, query.into_iter().chain(values))
    }

    /// What is known about a tool without asking anybody.
    pub(crate) fn cached(&self, identity: Identity, tool: &str) -> Option<Tool> {
        self.fresh(identity, tool).flatten()
    }

    /// What a listing says about a tool, where there is one that is not too old.
    pub(crate) fn fresh(&self, identity: Identity, tool: &str) -> Option<Option<Tool>> {
        self.state().find(identity, self.settings.ttl).map(|listing| listing.declared(tool))
    }

    /// What is known about a tool, asking for the tools where nothing is.
    pub(crate) async fn of<F>(&self, identity: Identity, tool: &str, list: impl Fn() -> F) -> Known
    where
        F: Future<Output = Option<(Listing, bool)>>,
    {
        let listing = self.listing(identity, self.settings.ttl, list).await;
        listing.map_or(Known::Unknown, |listing| Known::Listed(listing.declared(tool)))
    }

    /// What the results of a tool are like, where a listing says so that is not too old.
    pub(crate) fn fresh_output(&self, identity: Identity, tool: &str) -> Option<Schema> {
        self.state().find(identity, self.settings.ttl).map(|listing| listing.output(tool))
    }

    /// What the results of a tool are like, asking for the tools where nothing is known.
    pub(crate) async fn output<F>(&self, identity: Identity, tool: &str, list: impl Fn() -> F) -> Schema
    where
        F: Future<Output = Option<(Listing, bool)>>,
    {
        let listing = self.listing(identity, self.settings.ttl, list).await;
        listing.map_or(Schema::Unknown, |listing| listing.output(tool))
    }

    /// The same before a refusal, which only a recent listing may be the reason for.
    pub(crate) async fn recheck<F>(&self, identity: Identity, tool: &str, list: impl Fn() -> F) -> Known
    where
        F: Future<Output = Option<(Listing, bool)>>,
    {
        let listing = self.listing(identity, self.settings.recheck, list).await;
        listing.map_or(Known::Unknown, |listing| Known::Listed(listing.declared(tool)))
    }

    /// A listing not older than `age`, or the newest there is where it is too soon to ask again.
    async fn listing<F>(
        &self,
        identity: Identity,
        age: Duration,
        list: impl Fn() -> F,
    ) -> Option<Arc<Listing>>
    where
        F: Future<Output = Option<(Listing, bool)>>,
    {
        if let Some(listing) = self.state().find(identity, age) {
            return Some(listing);
        }
        let flight = self.state().flight(identity);
        let _held = flight.lock().await;
        // Whoever held it before may have brought what is wanted.
        if let Some(listing) = self.state().find(identity, age) {
            return Some(listing);
        }
        if !self.state().may_ask(identity) {
            return self.state().find(identity, self.settings.ttl);
        }
        match tokio::time::timeout(self.settings.budget, list()).await {
            Ok(Some((listing, public))) => Some(self.state().keep(identity, listing, public)),
            Ok(None) => {
                tracing::warn!("the tools could not be listed; headers of arguments go unchecked");
                None
            }
            Err(_) => {
                tracing::warn!(budget = ?self.settings.budget, "listing the tools took too long; headers of arguments go unchecked");
                None
            }
        }
    }

    /// Learns from a listing that passes by, if it is whole.
    pub(crate) fn learn(&self, identity: Identity, answer: &[u8]) {
        let page = Page::read(answer, &self.interest);
        if let Some(page) = page.as_ref().filter(|_| self.interest.checks()) {
            self.hold([answer], page.next.is_none());
        }
        let Some(page) = page.filter(|page| page.next.is_none()) else { return };
        let mut listing = Listing::default();
        listing.add(&page);
        self.state().keep(identity, listing, page.public);
    }

    /// Holds bindings and templates against the first listing that comes. `whole`: these are all of its pages. Rules: C9, F6.
    pub(crate) fn hold<'a>(&self, pages: impl IntoIterator<Item = &'a [u8]>, whole: bool) {
        if self.held.swap(true, Ordering::Relaxed) {
            return;
        }
        let pages: Vec<_> = pages.into_iter().filter_map(|page| Message::parse(page).ok()).collect();
        self.interest.check(&pages, whole);
    }

    /// The server said that its tools changed.
    pub(crate) fn forget(&self, identity: Identity) {
        let mut state = self.state();
        state.public = None;
        state.entries.remove(&identity);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that holds the lock can panic halfway through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What tells callers apart, hashed with two keys.
fn identity<'v>(
    keys: &(RandomState, RandomState),
    told: impl IntoIterator<Item = (usize, &'v [u8])>,
) -> Identity {
    let mut hashers = (keys.0.build_hasher(), keys.1.build_hasher());
    for part in told {
        part.hash(&mut hashers.0);
        part.hash(&mut hashers.1);
    }
    Identity(hashers.0.finish(), hashers.1.finish())
}

impl State {
    fn find(&self, identity: Identity, age: Duration) -> Option<Arc<Listing>> {
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

    fn flight(&mut self, identity: Identity) -> Arc<tokio::sync::Mutex<()>> {
        if self.entries.len() >= MAX_IDENTITIES && !self.entries.contains_key(&identity) {
            self.evict();
        }
        let fresh = || Entry { listing: None, made: Instant::now(), asked: None, flight: Arc::default() };
        self.entries.entry(identity).or_insert_with(fresh).flight.clone()
    }

    /// Whether the tools may be asked for now; if so, that is noted.
    fn may_ask(&mut self, identity: Identity) -> bool {
        let Some(entry) = self.entries.get_mut(&identity) else { return true };
        if entry.asked.is_some_and(|asked| asked.elapsed() < PAUSE) {
            return false;
        }
        entry.asked = Some(Instant::now());
        true
    }

    fn keep(&mut self, identity: Identity, listing: Listing, public: bool) -> Arc<Listing> {
        let listing = self.shared(listing);
        let made = Instant::now();
        if public {
            self.public = Some((listing.clone(), made));
        }
        let _ = self.flight(identity);
        if let Some(entry) = self.entries.get_mut(&identity) {
            entry.listing = Some(listing.clone());
            entry.made = made;
        }
        while self.entries.len() > 1 && self.weight() > MAX_WEIGHT {
            self.evict();
        }
        listing
    }

    /// What all listings weigh together, each counted once, however many share it.
    fn weight(&self) -> usize {
        let held = self.entries.values().filter_map(|entry| entry.listing.as_ref());
        let distinct: HashMap<_, _> = held.map(|listing| (Arc::as_ptr(listing), listing.weight())).collect();
        distinct.values().sum()
    }

    /// The same listing of another identity, where there is one: most callers see the same tools.
    fn shared(&self, listing: Listing) -> Arc<Listing> {
        let public = self.public.iter().map(|(listing, _)| listing);
        let recent = self.entries.values().filter_map(|entry| entry.listing.as_ref()).take(8);
        let same = public.chain(recent).find(|known| ***known == listing).cloned();
        same.unwrap_or_else(|| Arc::new(listing))
    }

    /// Drops the identity whose listing is oldest.
    fn evict(&mut self) {
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.made).map(|(identity, _)| *identity);
        if let Some(identity) = oldest {
            self.entries.remove(&identity);
        }
    }
}
