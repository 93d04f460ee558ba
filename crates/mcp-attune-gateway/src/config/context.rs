//! `[context]`: what of a caller's context goes on to the server behind, and how their words for times are read.

use mcp_attune::context::{self, Forward, Placement, Precision};
use mcp_attune::when;

use super::choice::{choices, choose};
use super::reader::Reader;

/// What of a caller's context goes on to the server behind, and how their words for times are read. Rules: C10, C14.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Context {
    /// The fields that go on; none by default.
    pub forward: Vec<Field>,
    /// Where they go.
    pub forward_as: ForwardAs,
    /// How exact the caller's coordinates may be, wherever they go.
    pub coordinates: Coordinates,
    /// What `the last week` and its like mean.
    pub past: Past,
}

choices! {
    /// A field of the caller's context. Rules: C2.
    pub Field {
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
    pub ForwardAs {
        /// Under `_meta`, where no server minds it.
        Meta = "meta",
        /// Beside `params`; strict servers refuse such a request.
        Sibling = "sibling",
    }
}

choices! {
    /// How exact the caller's coordinates may be.
    pub Coordinates {
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
    pub Past {
        /// From the same local time one unit earlier to now.
        Rolling = "rolling",
        /// The calendar unit before this one, as `last week`.
        Calendar = "calendar",
        /// Nothing: such an expression is refused.
        Refuse = "refuse",
    }
}

impl Context {
    /// What `the last week` and its like mean, as the rules want it.
    pub(crate) fn to_past(&self) -> when::Past {
        match self.past {
            Past::Rolling => when::Past::Rolling,
            Past::Calendar => when::Past::Calendar,
            Past::Refuse => when::Past::Refuse,
        }
    }

    /// The same, as the rules want it.
    pub(crate) fn to_forward(&self) -> Forward {
        let field = |field: &Field| match field {
            Field::Timezone => context::Field::Timezone,
            Field::Locale => context::Field::Locale,
            Field::CurrentTimestamp => context::Field::CurrentTimestamp,
            Field::UserLocation => context::Field::UserLocation,
        };
        Forward {
            fields: self.forward.iter().map(field).collect(),
            placement: match self.forward_as {
                ForwardAs::Meta => Placement::Meta,
                ForwardAs::Sibling => Placement::Beside,
            },
            precision: match self.coordinates {
                Coordinates::Off => Precision::Off,
                Coordinates::Coarse => Precision::Coarse,
                Coordinates::Exact => Precision::Exact,
            },
        }
    }

    pub(super) fn read(reader: &mut Reader<'_, '_, '_>, base: &Self) -> Self {
        Self {
            forward: reader.list("forward", &base.forward, choose),
            forward_as: reader.choice("forward_as", base.forward_as),
            coordinates: reader.choice("coordinates", base.coordinates),
            past: reader.choice("past", base.past),
        }
    }
}
