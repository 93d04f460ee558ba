//! `[context]`: what of a caller's context is forwarded to the upstream, and how phrases of time are read.

use mcp_attune::context::{self, ContextForwarding, ContextPlacement, CoordinatePrecision};
use mcp_attune::when;

use super::choice::{choices, parse_keyword};
use super::reader::ConfigTableReader;

/// `[context]`: what of a caller's context is forwarded to the upstream, and how phrases of time are read.
///
/// The context is what a caller says about its time zone, time, locale and place. By default nothing of it is
/// forwarded; arguments that the operator binds to it (`[tools.NAME.context]`) are filled in any case. Rules:
/// C10, C14.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ContextConfig {
    /// The fields that are forwarded; none by default.
    pub forward: Vec<ContextFieldSetting>,
    /// Where they are put in the request.
    pub forward_as: ForwardPlacementSetting,
    /// How exact the caller's coordinates may be, wherever they go: in forwarded contexts and in bound
    /// arguments.
    pub coordinates: CoordinatesSetting,
    /// What phrases such as `the last week` mean.
    pub past: PastSetting,
}

choices! {
    /// A field of the caller's context. Rules: C2.
    pub ContextFieldSetting {
        /// The IANA time zone.
        Timezone = "timezone",
        /// The locale, a BCP 47 tag.
        Locale = "locale",
        /// The time at the caller, with its offset.
        CurrentTimestamp = "currentTimestamp",
        /// The place: city, region, country and coordinates.
        UserLocation = "userLocation",
    }
}

choices! {
    /// Where the context goes in a request. Rules: C10.
    pub ForwardPlacementSetting {
        /// In `_meta`, which every server accepts.
        Meta = "meta",
        /// As a member of the message beside `params`. Strict servers refuse such a message as a whole.
        Sibling = "sibling",
    }
}

choices! {
    /// How exact the caller's coordinates may be.
    pub CoordinatesSetting {
        /// They are not given to anybody.
        Off = "off",
        /// Rounded to a tenth of a degree, about ten kilometres.
        Coarse = "coarse",
        /// As the caller sent them.
        Exact = "exact",
    }
}

choices! {
    /// What `the last week`, `past month` and their like mean. Rules: C14.
    pub PastSetting {
        /// From the same local time one unit earlier until now.
        Rolling = "rolling",
        /// The calendar unit before the current one, like `last week`.
        Calendar = "calendar",
        /// Nothing: such a phrase is refused, and the error says what to write instead.
        Refuse = "refuse",
    }
}

impl ContextConfig {
    /// Translates `past` into the type of the rules.
    pub(crate) fn to_past(&self) -> when::PastPhrasePolicy {
        match self.past {
            PastSetting::Rolling => when::PastPhrasePolicy::Rolling,
            PastSetting::Calendar => when::PastPhrasePolicy::Calendar,
            PastSetting::Refuse => when::PastPhrasePolicy::Refuse,
        }
    }

    /// Translates `forward`, `forward_as` and `coordinates` into the type of the rules.
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

    /// Reads the table. Absent keys keep the values of `base`.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            forward: reader.list("forward", &base.forward, parse_keyword),
            forward_as: reader.choice("forward_as", base.forward_as),
            coordinates: reader.choice("coordinates", base.coordinates),
            past: reader.choice("past", base.past),
        }
    }
}
