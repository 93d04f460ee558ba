//! What the adapted form of a listing depends on, beside the listing itself.
//!
//! Two plans with the same key make the same of the same listing. Everything that a plan holds is named where the key is
//! made, so that whoever adds something to a plan has to say what it means for the key.

use core::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::bind::Bindings;
use crate::catalog::LocaleChainKey;
use crate::language::Tag;
use crate::localize::{RequestSubject, TranslationScope};
use crate::shaping::ListingShapeKey;

/// The part of a plan that the adapted form of a listing depends on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PlanKey {
    pub(super) chosen: Option<Tag>,
    pub(super) default: Option<Tag>,
    pub(super) translation: Option<TranslationKey>,
    pub(super) bindings: Option<SharedBindings>,
    pub(super) shape: Option<ListingShapeKey>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TranslationKey {
    pub(super) asked: RequestSubject,
    pub(super) chain: LocaleChainKey,
    pub(super) translate: TranslationScope,
}

/// Bindings that are the same only where they are the very same.
#[derive(Clone, Debug)]
pub(super) struct SharedBindings(pub(super) Arc<Bindings>);

impl PartialEq for SharedBindings {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for SharedBindings {}

impl Hash for SharedBindings {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).hash(state);
    }
}
