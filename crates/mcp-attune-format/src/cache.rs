//! Where formatters are kept, for every thread.
//!
//! They are kept by locale, kind and options: nothing that a caller is, has or said can be read from them, and a
//! caller who asks for ever new locales turns out only what is rarely used.

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

/// Where the formatters are kept.
pub(crate) struct FormatterCache(InnerCache);

impl FormatterCache {
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

    /// The formatter for this kind in this locale, made now if it was not there.
    pub(crate) fn get(&self, known: &KnownLocale, kind: FormatterKind) -> Option<IcuFormatter> {
        if let Some(made) = self.0.get(&BorrowedFormatterKey { locale: &known.name, kind }) {
            return Some(made);
        }
        let made = IcuFormatter::new(&known.locale, kind)?;
        self.0.insert(FormatterKey { locale: known.name.clone(), kind }, made.clone());
        Some(made)
    }
}

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

/// A key that owns nothing.
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
