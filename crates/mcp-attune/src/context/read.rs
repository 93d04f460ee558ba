//! One request's context, field by field.

use mcp_attune_wire::context::Form;
use mcp_attune_wire::json::{Text, Type, Value, Walk};
use mcp_attune_wire::message::Message;

use super::ClientContext;
use super::country::Country;
use super::instant::Instant;
use super::place::{Axis, Coordinates, Name, Place};
use super::vendor::{Carries, VENDOR_KEYS, VendorField};
use super::wrong::{Source, Warning, Wrong};
use super::zone::Zone;
use crate::language::Tag;

pub(super) fn read(message: &Message<'_>) -> (ClientContext, Vec<Warning>) {
    let mut reader = Reader { source: Source::Beside, warnings: Vec::new() };
    let mut context = ClientContext::default();
    // Where both are there and could be read, they are equal: a request with two contexts was refused.
    let beside = reader.object(Source::Beside, Form::beside(message));
    let in_meta = reader.object(Source::Meta, Form::in_meta(message));
    if let Some((source, object)) = beside.or(in_meta) {
        reader.source = source;
        reader.fields(object, &mut context);
    }
    for vendor in VENDOR_KEYS {
        if let Some(value) = message.meta(vendor.key) {
            reader.source = Source::Vendor(vendor.key);
            reader.vendor(&vendor.carries, value, &mut context);
        }
    }
    (context, reader.warnings)
}

fn locale(text: &str) -> Result<Tag, Wrong> {
    Tag::parse(text).map_err(Wrong::Locale)
}

struct Reader {
    source: Source,
    warnings: Vec<Warning>,
}

impl Reader {
    fn warn(&mut self, field: &'static str, wrong: Wrong) {
        self.warnings.push(Warning { source: self.source, field, wrong });
    }

    /// A whole context, where it is one.
    fn object<'a>(&mut self, source: Source, form: Form<'a>) -> Option<(Source, Value<'a>)> {
        let wrong = match form {
            Form::Absent => return None,
            Form::Object(object) => return Some((source, object)),
            Form::NotAnObject => Wrong::NotAnObject,
            Form::TooLarge => Wrong::TooLarge,
        };
        self.source = source;
        self.warn("", wrong);
        None
    }

    fn fields(&mut self, object: Value<'_>, context: &mut ClientContext) {
        object.walk().members(|name, walk| match name.decode().as_deref() {
            Some("timezone") => context.timezone = self.text("timezone", walk.value(), Zone::parse),
            Some("currentTimestamp") => {
                context.instant = self.text("currentTimestamp", walk.value(), Instant::parse);
            }
            Some("locale") => context.locale = self.text("locale", walk.value(), locale),
            Some("userLocation") => context.place = self.place(walk),
            other => {
                let name = other.unwrap_or(name.as_written());
                context.unknown.push((name.into(), walk.value().raw().into()));
            }
        });
    }

    /// A field that is a string, as what it stands for.
    fn text<T>(
        &mut self,
        field: &'static str,
        value: Value<'_>,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let text = value.text().and_then(Text::decode);
        match text.ok_or(Wrong::NotText).and_then(|text| parse(&text)) {
            Ok(read) => Some(read),
            Err(wrong) => {
                self.warn(field, wrong);
                None
            }
        }
    }

    fn place(&mut self, walk: &mut Walk<'_>) -> Option<Place> {
        if walk.kind() != Type::Object {
            self.warn("userLocation", Wrong::NotAnObject);
            return None;
        }
        let mut place = Place::default();
        walk.members(|name, walk| match name.decode().as_deref() {
            Some("city") => place.city = self.text("userLocation.city", walk.value(), Name::parse),
            Some("region") => place.region = self.text("userLocation.region", walk.value(), Name::parse),
            Some("country") => {
                place.country = self.text("userLocation.country", walk.value(), Country::parse);
            }
            Some("coordinates") => place.coordinates = self.coordinates(walk),
            _ => {}
        });
        Some(place).filter(|place| !place.is_empty())
    }

    fn coordinates(&mut self, walk: &mut Walk<'_>) -> Option<Coordinates> {
        if walk.kind() != Type::Object {
            self.warn("userLocation.coordinates", Wrong::NotAnObject);
            return None;
        }
        let (mut latitude, mut longitude) = (None, None);
        walk.members(|name, walk| match name.decode().as_deref() {
            Some("latitude") => latitude = Some(walk.value()),
            Some("longitude") => longitude = Some(walk.value()),
            _ => {}
        });
        match Coordinates::read(latitude, longitude, false) {
            Ok(Some(read)) => Some(read),
            Ok(None) => {
                self.warn("userLocation.coordinates", Wrong::Half);
                None
            }
            Err((axis, wrong)) => {
                let field = match axis {
                    None => "userLocation.coordinates",
                    Some(Axis::Latitude) => "userLocation.coordinates.latitude",
                    Some(Axis::Longitude) => "userLocation.coordinates.longitude",
                };
                self.warn(field, wrong);
                None
            }
        }
    }

    /// Fills from the value of a vendor key what the context still leaves open.
    fn vendor(&mut self, carries: &Carries, value: Value<'_>, context: &mut ClientContext) {
        let members = match carries {
            Carries::Value(field) => {
                let mut found = Found::default();
                found.offer(*field, "", value);
                return self.fill(&found, context);
            }
            Carries::Members(members) => *members,
        };
        let Some((_, object)) = self.object(self.source, Form::of(Some(value))) else { return };
        let mut found = Found::default();
        for (path, field) in members {
            let inside = path.iter().try_fold(object, |value, name| value.member(name));
            if let (Some(value), Some(name)) = (inside, path.last()) {
                found.offer(*field, name, value);
            }
        }
        self.fill(&found, context);
    }

    fn fill(&mut self, found: &Found<'_>, context: &mut ClientContext) {
        if context.locale.is_none() {
            context.locale = self.found(found, VendorField::Locale, locale);
        }
        if context.timezone.is_none() {
            context.timezone = self.found(found, VendorField::Timezone, Zone::parse);
        }
        if context.place.is_none() {
            let place = Place {
                city: self.found(found, VendorField::City, Name::parse),
                region: self.found(found, VendorField::Region, Name::parse),
                country: self.found(found, VendorField::Country, Country::parse),
                coordinates: self.degrees(found),
            };
            context.place = Some(place).filter(|place| !place.is_empty());
        }
    }

    fn found<T>(
        &mut self,
        found: &Found<'_>,
        field: VendorField,
        parse: impl FnOnce(&str) -> Result<T, Wrong>,
    ) -> Option<T> {
        let (name, value) = found.get(field)?;
        self.text(name, value, parse)
    }

    /// Coordinates as vendors send them: as numbers or as texts.
    fn degrees(&mut self, found: &Found<'_>) -> Option<Coordinates> {
        let value = |field| found.get(field).map(|(_, value)| value);
        let read = Coordinates::read(value(VendorField::Latitude), value(VendorField::Longitude), true);
        read.unwrap_or_else(|(axis, wrong)| {
            let field = match axis {
                None => "coordinates",
                Some(Axis::Latitude) => "latitude",
                Some(Axis::Longitude) => "longitude",
            };
            self.warn(field, wrong);
            None
        })
    }
}

/// What one vendor key says, by field, with the names of the members for warnings.
#[derive(Default)]
struct Found<'a>(Vec<(VendorField, &'static str, Value<'a>)>);

impl<'a> Found<'a> {
    fn offer(&mut self, field: VendorField, name: &'static str, value: Value<'a>) {
        if value.kind() != Type::Null {
            self.0.push((field, name, value));
        }
    }

    /// The first value that was offered for a field.
    fn get(&self, field: VendorField) -> Option<(&'static str, Value<'a>)> {
        self.0.iter().find(|(offered, ..)| *offered == field).map(|(_, name, value)| (*name, *value))
    }
}
