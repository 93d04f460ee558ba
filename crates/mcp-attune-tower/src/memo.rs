//! A memo of adapted listings, so that adapting the same listing again costs a hash, a comparison and a copy.
//!
//! 1. An entry is found by everything that it depends on: the plan's own key, and the answer's bytes without
//!    its id. Whoever gets it would have got the same bytes without it.
//! 2. All entries together have a bound in bytes; the least recently used goes first.
//! 3. With a listing of tools is kept what was learned from it, so that it is not parsed again for that either.
//!
//! Rules: G3, G4, H10.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use mcp_attune::exchange::listing::ToolIndex;
use mcp_attune::exchange::{AnswerAdapter, AnswerWithoutId, ListingKey, MemoizedListing, MessageRewrite};

/// Maximum size of all entries of one mount together, in bytes.
const MAX_MEMO_BYTES: usize = 16 << 20;
/// Maximum size of an answer that is looked up or kept.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// What is counted for the key and the overhead of an entry: about their maximum.
const KEY_BYTES: usize = 1024;

/// What a mount learned about its server from one answer, kept so that it can be learned again without parsing.
#[derive(Clone, Debug)]
pub(crate) enum ServerKnowledge {
    /// Nothing that is kept.
    Nothing,
    /// The tools of a caller, and whether the listing is public: the same for every caller.
    Tools(Arc<ToolIndex>, bool),
    /// Whether the server negotiates content itself, so that its answers are not shaped.
    Negotiates(bool),
}

/// What is kept: the adapted listing and what was learned from it.
#[derive(Debug)]
struct ListingMemoValue {
    listing: MemoizedListing,
    lesson: ServerKnowledge,
}

/// The key of an entry. The hash stands for the answer's bytes without its id; the bytes themselves are
/// compared when the entry is applied, so a collision is harmless.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ListingMemoKey {
    listing: ListingKey,
    bytes: u64,
}

/// The memo of one mount.
#[derive(Default)]
pub(crate) struct ListingMemo {
    answers: Mutex<ListingMemoTable>,
    /// Hashes the bytes of answers, with a seed of this process.
    hasher: RandomState,
}

/// An answer that may be in the memo, with its key: made by [`ListingMemo::lookup`], used to find the entry or
/// to keep one.
pub(crate) struct ListingMemoLookup<'m> {
    key: ListingMemoKey,
    answer: AnswerWithoutId<'m>,
}

/// The entries, with what is needed to evict them.
#[derive(Default)]
struct ListingMemoTable {
    kept: HashMap<ListingMemoKey, ListingMemoEntry, RandomState>,
    bytes: usize,
    /// Counts lookups and insertions; its value at the last use tells which entry is the least recently used.
    uses: u64,
}

/// An entry with its size and the count of its last use.
struct ListingMemoEntry {
    kept: Arc<ListingMemoValue>,
    bytes: usize,
    used: u64,
}

impl ListingMemoTable {
    fn get(&mut self, key: &ListingMemoKey) -> Option<Arc<ListingMemoValue>> {
        self.uses += 1;
        let entry = self.kept.get_mut(key)?;
        entry.used = self.uses;
        Some(Arc::clone(&entry.kept))
    }

    /// Adds or replaces an entry, and evicts others until the bound holds.
    fn insert(&mut self, key: ListingMemoKey, kept: ListingMemoValue) {
        self.uses += 1;
        let (bytes, used) = (kept.listing.weight() + KEY_BYTES, self.uses);
        self.bytes += bytes;
        if let Some(old) = self.kept.insert(key, ListingMemoEntry { kept: Arc::new(kept), bytes, used }) {
            self.bytes -= old.bytes;
        }
        while self.bytes > MAX_MEMO_BYTES && self.evict() {}
    }

    /// Evicts the least recently used entry, and returns whether there was one. It looks at all: there are few,
    /// because each is a whole listing.
    fn evict(&mut self) -> bool {
        let oldest = self.kept.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        let Some(entry) = oldest.and_then(|key| self.kept.remove(&key)) else { return false };
        self.bytes -= entry.bytes;
        true
    }
}

impl ListingMemo {
    /// Returns what an answer is found by. `None` if it is not to be kept: it is too large, not the answer to a
    /// listing, or its id is not found at once.
    pub(crate) fn lookup<'m>(
        &self,
        answering: &AnswerAdapter,
        answer: &'m [u8],
    ) -> Option<ListingMemoLookup<'m>> {
        if answer.len() > MAX_ANSWER_BYTES {
            return None;
        }
        let listing = answering.listing_key()?;
        let answer = AnswerWithoutId::find(answer)?;
        let bytes = self.hasher.hash_one(answer);
        Some(ListingMemoLookup { key: ListingMemoKey { listing, bytes }, answer })
    }

    /// Returns what became of the same answer for the same plan before, and what was learned from it.
    pub(crate) fn find(&self, lookup: &ListingMemoLookup<'_>) -> Option<(MessageRewrite, ServerKnowledge)> {
        let kept = self.answers().get(&lookup.key)?;
        Some((kept.listing.apply(&lookup.answer)?, kept.lesson.clone()))
    }

    fn answers(&self) -> MutexGuard<'_, ListingMemoTable> {
        // Nothing that holds the lock can panic halfway through a change.
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what became of an answer.
    pub(crate) fn keep(
        &self,
        lookup: ListingMemoLookup<'_>,
        listing: MemoizedListing,
        lesson: ServerKnowledge,
    ) {
        self.answers().insert(lookup.key, ListingMemoValue { listing, lesson });
    }
}

impl<'m> ListingMemoLookup<'m> {
    /// Returns the answer that was looked up.
    pub(crate) fn answer(&self) -> &AnswerWithoutId<'m> {
        &self.answer
    }
}

impl fmt::Debug for ListingMemo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let answers = self.answers();
        write!(f, "ListingMemo({} answers, {} bytes)", answers.kept.len(), answers.bytes)
    }
}
