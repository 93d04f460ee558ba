//! Listings that were adapted before, kept so that the same one costs a hash, a comparison and a copy.
//!
//! 1. What is kept is found by everything that it depends on: the plan's own key, and the answer's bytes without its id.
//!    Whoever gets it would have got the same bytes without it.
//! 2. All of it together has a bound in bytes; what was not used for longest goes first.
//! 3. With a listing of tools is kept what was learned from it, so that it is not read again for that either.
//!
//! Rules: G3, G4, H10.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use mcp_attune::exchange::listing::ToolIndex;
use mcp_attune::exchange::{AnswerAdapter, AnswerWithoutId, ListingKey, MemoizedListing, MessageRewrite};

/// How many bytes are kept for one mount.
const MAX_MEMO_BYTES: usize = 16 << 20;
/// How many bytes one answer may take of them.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// How many bytes the key of an answer takes at most, about, and what is around it.
const KEY_BYTES: usize = 1024;

/// What a mount learned from an answer.
#[derive(Clone, Debug)]
pub(crate) enum ServerKnowledge {
    /// Nothing that is kept.
    Nothing,
    /// The tools of a caller, and whether everybody gets the same.
    Tools(Arc<ToolIndex>, bool),
    /// Whether the server negotiates content itself.
    Negotiates(bool),
}

#[derive(Debug)]
struct ListingMemoValue {
    listing: MemoizedListing,
    lesson: ServerKnowledge,
}

/// By what an answer is kept: the hash stands for its bytes, which are compared afterwards.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct ListingMemoKey {
    listing: ListingKey,
    bytes: u64,
}

/// The listings of one mount that were adapted before.
#[derive(Default)]
pub(crate) struct ListingMemo {
    answers: Mutex<ListingMemoTable>,
    /// Hashes the bytes of answers. Its seed is this process's own.
    hasher: RandomState,
}

/// An answer that may be kept, or may have been.
pub(crate) struct ListingMemoLookup<'m> {
    key: ListingMemoKey,
    answer: AnswerWithoutId<'m>,
}

#[derive(Default)]
struct ListingMemoTable {
    kept: HashMap<ListingMemoKey, ListingMemoEntry, RandomState>,
    bytes: usize,
    /// Counts the uses of all, to tell which was used last.
    uses: u64,
}

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

    fn insert(&mut self, key: ListingMemoKey, kept: ListingMemoValue) {
        self.uses += 1;
        let (bytes, used) = (kept.listing.weight() + KEY_BYTES, self.uses);
        self.bytes += bytes;
        if let Some(old) = self.kept.insert(key, ListingMemoEntry { kept: Arc::new(kept), bytes, used }) {
            self.bytes -= old.bytes;
        }
        while self.bytes > MAX_MEMO_BYTES && self.evict() {}
    }

    /// Drops what was not used for the longest time. There are few, because each is a whole listing.
    fn evict(&mut self) -> bool {
        let oldest = self.kept.iter().min_by_key(|(_, entry)| entry.used).map(|(key, _)| key.clone());
        let Some(entry) = oldest.and_then(|key| self.kept.remove(&key)) else { return false };
        self.bytes -= entry.bytes;
        true
    }
}

impl ListingMemo {
    /// What an answer would be kept by; `None` where it is none that is kept.
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

    /// What became of the same answer before, and what was learned from it.
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
    /// The answer that is looked for.
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
