//! `[context]`: what of a caller's context goes on to the server behind, and how their words for times are read.

use mcp_attune::context::{self, ContextForwarding, ContextPlacement, CoordinatePrecision};
use mcp_attune::when;

use super::choice::{choices, parse_keyword};
use super::reader::ConfigTableReader;

/// What of a caller's context goes on to the server behind, and how their words for times are read. Rules: C10, C14.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ContextConfig {
    /// The fields that go on; none by default.
    pub forward: Vec<ContextFieldSetting>,
    /// Where they go.
    pub forward_as: ForwardPlacementSetting,
    /// How exact the caller's coordinates may be, wherever they go.
    pub coordinates: CoordinatesSetting,
    /// What `the last week` and its like mean.
    pub past: PastSetting,
}

choices! {
    /// A field of the caller's context. Rules: C2.
    pub ContextFieldSetting {
        /// The time zone.
        Timezone = "timezone",
        /// The locale.
        Locale = "locale",
        /// The time at the caller.
        CurrentTimestamp = "currentTimestamp",
        /// The place.
        UserLocation = "userLocation",
    }
}

choices! {
    /// Where the context goes in a request. Rules: C10.
    pub ForwardPlacementSetting {
        /// Under `_meta`, where no server minds it.
        Meta = "meta",
        /// Beside `params`; strict servers refuse such a request.
        Sibling = "sibling",
    }
}

choices! {
    /// How exact the caller's coordinates may be.
    pub CoordinatesSetting {
        /// They go nowhere.
        Off = "off",
        /// Rounded, to about ten kilometres.
        Coarse = "coarse",
        /// As the caller sent them.
        Exact = "exact",
    }
}

choices! {
    /// What `the last week`, `past month` and their like mean. Rules: C14.
    pub PastSetting {
        /// From the same local time one unit earlier to now.
        Rolling = "rolling",
        /// The calendar unit before this one, as `last week`.
        Calendar = "calendar",
        /// Nothing: such an expression is refused.
        Refuse = "refuse",
    }
}

impl ContextConfig {
    /// What `the last week` and its like mean, as the rules want it.
    pub(crate) fn to_past(&self) -> when::PastPhrasePolicy {
        match self.past {
            PastSetting::Rolling => when::PastPhrasePolicy::Rolling,
            PastSetting::Calendar => when::PastPhrasePolicy::Calendar,
            PastSetting::Refuse => when::PastPhrasePolicy::Refuse,
        }
    }

    /// The same, as the rules want it.
    pub(crate) fn to_forward(&self) -> ContextForwarding {
        let field = |field: &ContextFieldSetting| match field {
            ContextFieldSetting::Timezone => context::ClientContextField::Timezone,
            ContextFieldSetting::Locale => context::ClientContextField::Locale,
            ContextFieldSetting::CurrentTimestamp => context::ClientContextField::CurrentTimestamp,
            ContextFieldSetting::UserLocation => context::ClientContextField::UserLocation,
        };
        ContextForwarding {
            fields: self.forward.iter().map(field).collect(),
            placement: match self.forward_as {
                ForwardPlacementSetting::Meta => ContextPlacement::Meta,
                ForwardPlacementSetting::Sibling => ContextPlacement::Beside,
            },
            precision: match self.coordinates {
                CoordinatesSetting::Off => CoordinatePrecision::Off,
                CoordinatesSetting::Coarse => CoordinatePrecision::Coarse,
                CoordinatesSetting::Exact => CoordinatePrecision::Exact,
            },
        }
    }

    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            forward: reader.list("forward", &base.forward, parse_keyword),
            forward_as: reader.choice("forward_as", base.forward_as),
            coordinates: reader.choice("coordinates", base.coordinates),
            past: reader.choice("past", base.past),
        }
    }
}
