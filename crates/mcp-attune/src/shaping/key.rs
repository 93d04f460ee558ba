//! What the form of a listing depends on.

use core::hash::{Hash, Hasher};
use std::sync::Arc;

use super::Shaper;
use crate::features::FeaturePreferences;
use crate::session::ViewSupport;

/// All that the form of a listing, or of what a server says of itself, depends on.
#[derive(Clone, Debug)]
pub struct ListingShapeKey {
    /// What the operator wrote; the very same, not an equal one.
    pub shaper: Arc<dyn Shaper>,
    /// What was asked.
    pub method: &'static str,
    /// What the caller's tags ask for.
    pub wanted: FeaturePreferences,
    /// Whether the caller's host draws views.
    pub views: ViewSupport,
}

impl PartialEq for ListingShapeKey {
    fn eq(&self, other: &Self) -> bool {
        let Self { shaper, method, wanted, views } = self;
        Arc::ptr_eq(shaper, &other.shaper)
            && *method == other.method
            && *wanted == other.wanted
            && *views == other.views
    }
}

impl Eq for ListingShapeKey {}

impl Hash for ListingShapeKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (Arc::as_ptr(&self.shaper).cast::<()>(), self.method, self.wanted.format(), self.views).hash(state);
    }
}
