//! Where formatters are kept, for every thread.
//!
//! They are kept by locale, kind and options: nothing that a caller is, has or said can be read from them, and a
//! caller who asks for ever new locales turns out only what is rarely used.

use core::hash::{Hash, Hasher};
use std::hash::RandomState;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{Equivalent, OptionsBuilder, UnitWeighter};

use crate::locale::Known;
use crate::made::{Kind, Made};

type Slots = Cache<Key, Made, UnitWeighter, RandomState, DefaultLifecycle<Key, Made>>;

/// Where the formatters are kept.
pub(crate) struct Kept(Slots);

impl Kept {
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
    pub(crate) fn get(&self, known: &Known, kind: Kind) -> Option<Made> {
        if let Some(made) = self.0.get(&Wanted { locale: &known.name, kind }) {
            return Some(made);
        }
        let made = Made::new(&known.locale, kind)?;
        self.0.insert(Key { locale: known.name.clone(), kind }, made.clone());
        Some(made)
    }
}

#[derive(PartialEq, Eq)]
struct Key {
    locale: Box<str>,
    kind: Kind,
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Wanted { locale: &self.locale, kind: self.kind }.hash(state);
    }
}

/// A key that owns nothing.
#[derive(Hash)]
struct Wanted<'a> {
    locale: &'a str,
    kind: Kind,
}

impl Equivalent<Key> for Wanted<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.kind == key.kind && *self.locale == *key.locale
    }
}
