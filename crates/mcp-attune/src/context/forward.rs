//! What of a context goes on to the server behind, which is nothing unless the operator says so.
//!
//! 1. The fields that are named, as far as they could be read. What could not, and what is not known, stays here.
//! 2. Coordinates are left out, rounded, or exact.
//! 3. They go on in `_meta`, where no server minds them, or beside `params`.
//!
//! Rules: C10.

use core::fmt::Write;

use mcp_attune_wire::json::JsonQuoted;

use super::{ClientContext, Coordinates, Country, UserLocation};

/// What goes on, and where. The default is nothing.
///
/// Rules: C10.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContextForwarding {
    /// The fields that go on.
    pub fields: Vec<ClientContextField>,
    /// Where they go.
    pub placement: ContextPlacement,
    /// How exact coordinates may be.
    pub precision: CoordinatePrecision,
}

/// A field of the context. Rules: C2.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ClientContextField {
    /// `timezone`.
    Timezone,
    /// `currentTimestamp`.
    CurrentTimestamp,
    /// `locale`.
    Locale,
    /// `userLocation`.
    UserLocation,
}

/// Where a context stands in a request. Rules: C10.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ContextPlacement {
    /// In `_meta`.
    #[default]
    Meta,
    /// Beside `params`.
    Beside,
}

/// How exact coordinates may be. Rules: C10.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CoordinatePrecision {
    /// They are left out.
    #[default]
    Off,
    /// Rounded to a tenth of a degree.
    Coarse,
    /// As they came.
    Exact,
}

impl ContextForwarding {
    /// The part of a context that goes on, as a JSON object; none where nothing does.
    #[must_use]
    pub fn write(&self, context: &ClientContext) -> Option<String> {
        let mut out = ContextObjectWriter::default();
        let named = |field| self.fields.contains(&field);
        if let Some(zone) = context.timezone().filter(|_| named(ClientContextField::Timezone)) {
            out.text("timezone", zone.name());
        }
        if let Some(instant) = context.instant().filter(|_| named(ClientContextField::CurrentTimestamp)) {
            out.text("currentTimestamp", instant.as_str());
        }
        if let Some(locale) = context.locale().filter(|_| named(ClientContextField::Locale)) {
            out.text("locale", locale.as_str());
        }
        if let Some(place) = context.user_location().filter(|_| named(ClientContextField::UserLocation)) {
            out.object("userLocation", self.place(place));
        }
        out.finish()
    }

    fn place(&self, place: &UserLocation) -> ContextObjectWriter {
        let mut out = ContextObjectWriter::default();
        let names = [
            ("city", place.city()),
            ("region", place.region()),
            ("country", place.country().map(Country::as_str)),
        ];
        for (name, value) in names {
            if let Some(value) = value {
                out.text(name, value);
            }
        }
        let coordinates = match self.precision {
            CoordinatePrecision::Off => None,
            CoordinatePrecision::Coarse => place.coordinates().map(Coordinates::rounded),
            CoordinatePrecision::Exact => place.coordinates(),
        };
        if let Some(coordinates) = coordinates {
            let mut inside = ContextObjectWriter::default();
            inside.value("latitude", &coordinates.latitude());
            inside.value("longitude", &coordinates.longitude());
            out.object("coordinates", inside);
        }
        out
    }
}

/// An object as it is written.
#[derive(Default)]
struct ContextObjectWriter(String);

impl ContextObjectWriter {
    fn value(&mut self, name: &str, value: &dyn core::fmt::Display) {
        let comma = if self.0.is_empty() { "" } else { "," };
        // Writing into a String does not fail.
        let _ = write!(self.0, "{comma}\"{name}\":{value}");
    }

    fn text(&mut self, name: &str, text: &str) {
        self.value(name, &JsonQuoted(text));
    }

    /// An object that has nothing in it is left out.
    fn object(&mut self, name: &str, inside: Self) {
        if let Some(inside) = inside.finish() {
            self.value(name, &inside);
        }
    }

    fn finish(self) -> Option<String> {
        (!self.0.is_empty()).then(|| format!("{{{}}}", self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    const ALL: [ClientContextField; 4] = [
        ClientContextField::Timezone,
        ClientContextField::CurrentTimestamp,
        ClientContextField::Locale,
        ClientContextField::UserLocation,
    ];

    #[track_caller]
    fn check(
        fields: &[ClientContextField],
        precision: CoordinatePrecision,
        context: &str,
        expected: Option<&str>,
    ) {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{context}}}"#);
        let (context, _) = ClientContext::read(&Message::parse(body.as_bytes()).unwrap());
        let forward =
            ContextForwarding { fields: fields.to_vec(), precision, ..ContextForwarding::default() };
        assert_eq!(forward.write(&context).as_deref(), expected);
    }

    const FULL: &str = r#"{"timezone":"europe/vienna","currentTimestamp":"2026-11-12T14:23:00.50Z","locale":"de-at","x":1,
        "userLocation":{"city":"St. \"P\u00f6lten\"","street":"Hauptplatz 1","country":"at","coordinates":{"latitude":48.20420,"longitude":-0.04}}}"#;

    #[test]
    fn nothing_goes_on_unless_it_is_named() {
        check(&[], CoordinatePrecision::Exact, FULL, None);
        check(&[ClientContextField::Locale], CoordinatePrecision::Exact, FULL, Some(r#"{"locale":"de-at"}"#));
        check(
            &[ClientContextField::UserLocation],
            CoordinatePrecision::Off,
            FULL,
            Some(r#"{"userLocation":{"city":"St. \"Pölten\"","country":"AT"}}"#),
        );
    }

    #[test]
    fn what_is_named_goes_on_as_far_as_it_could_be_read() {
        check(
            &ALL,
            CoordinatePrecision::Exact,
            FULL,
            Some(
                r#"{"timezone":"Europe/Vienna","currentTimestamp":"2026-11-12T14:23:00.50Z","locale":"de-at","userLocation":{"city":"St. \"Pölten\"","country":"AT","coordinates":{"latitude":48.2042,"longitude":-0.04}}}"#,
            ),
        );
        check(
            &ALL,
            CoordinatePrecision::Exact,
            r#"{"timezone":"+01:00","locale":"de"}"#,
            Some(r#"{"locale":"de"}"#),
        );
        check(&ALL, CoordinatePrecision::Exact, r#"{"timezone":"+01:00"}"#, None);
    }

    #[test]
    fn coordinates_are_as_exact_as_the_operator_lets_them_be() {
        let alone = r#"{"userLocation":{"coordinates":{"latitude":48.2042,"longitude":-0.04}}}"#;
        check(&ALL, CoordinatePrecision::Off, alone, None);
        check(
            &ALL,
            CoordinatePrecision::Coarse,
            alone,
            Some(r#"{"userLocation":{"coordinates":{"latitude":48.2,"longitude":0}}}"#),
        );
        check(&ALL, CoordinatePrecision::Exact, alone, Some(alone));
    }
}
