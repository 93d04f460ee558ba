//! The cache of constructed ICU formatters, shared by all threads and all callers of a server.
//!
//! Formatters are kept by locale, kind and options. Nothing that a caller is, has or said can be read from
//! them, and a caller who asks for ever new locales only evicts formatters that are rarely used.

use core::hash::{Hash, Hasher};
use std::hash::RandomState;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, UnitWeighter};

use crate::icu_formatter::{FormatterKind, IcuFormatter};
use crate::locale::KnownLocale;

type InnerCache = Cache<
    FormatterKey,
    IcuFormatter,
    UnitWeighter,
    RandomState,
    DefaultLifecycle<FormatterKey, IcuFormatter>,
>;

/// A concurrent cache of ICU formatters, bounded by their number. Lookups borrow the locale's name and
/// formatters are shared by `Arc`, so a hit allocates nothing.
pub(crate) struct FormatterCache(InnerCache);

impl FormatterCache {
    /// Maximum number of formatters, of whatever kind: each counts as one. Public as `MAX_FORMATTERS`.
    pub(crate) const CAPACITY: u16 = 1024;

    pub(crate) fn new() -> Self {
        let capacity = Self::CAPACITY;
        // The number of shards is given, because the library would ask the machine for one.
        let options = OptionsBuilder::new()
            .shards(8)
            .estimated_items_capacity(capacity.into())
            .weight_capacity(capacity.into())
            .build();
        let (weighter, hasher) = (UnitWeighter, RandomState::new());
        Self(match options {
            Ok(options) => Cache::with_options(options, weighter, hasher, DefaultLifecycle::default()),
            Err(_) => {
                Cache::with(capacity.into(), capacity.into(), weighter, hasher, DefaultLifecycle::default())
            }
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the formatter of this kind for this locale, and constructs and keeps it if it is not there.
    ///
    /// Two threads that miss at the same time both construct one; either result can be used. Returns `None` if
    /// ICU has no data for the kind in this locale, which is not remembered: the next call tries again.
    pub(crate) fn get(&self, known: &KnownLocale, kind: FormatterKind) -> Option<IcuFormatter> {
        if let Some(made) = self.0.get(&BorrowedFormatterKey { locale: &known.name, kind }) {
            return Some(made);
        }
        let made = IcuFormatter::new(&known.locale, kind)?;
        self.0.insert(FormatterKey { locale: known.name.clone(), kind }, made.clone());
        Some(made)
    }
}

/// The key that the cache stores. It must hash and compare as [`BorrowedFormatterKey`] does, which is why its
/// `Hash` is written in terms of that type.
#[derive(PartialEq, Eq)]
struct FormatterKey {
    locale: Box<str>,
    kind: FormatterKind,
}

impl Hash for FormatterKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        BorrowedFormatterKey { locale: &self.locale, kind: self.kind }.hash(state);
    }
}

/// The same key for lookups, with a borrowed locale name, so that a lookup does not allocate.
#[derive(Hash)]
struct BorrowedFormatterKey<'a> {
    locale: &'a str,
    kind: FormatterKind,
}

impl Equivalent<FormatterKey> for BorrowedFormatterKey<'_> {
    fn equivalent(&self, key: &FormatterKey) -> bool {
        self.kind == key.kind && *self.locale == *key.locale
    }
}
