//! One request's context, field by field.

use mcp_attune_wire::context::RawClientContext;
use mcp_attune_wire::json::{JsonKind, JsonString, JsonWalker, SpannedValue};
use mcp_attune_wire::message::Message;

use super::ClientContext;
use super::country::Country;
use super::instant::Rfc3339Instant;
use super::place::{CoordinateAxis, Coordinates, PlaceName, UserLocation};
use super::vendor::{VENDOR_KEYS, VendorField, VendorValueShape};
use super::warning::{ClientContextError, ContextPosition, ContextWarning};
use super::zone::IanaTimeZone;
use crate::language::Tag;

pub(super) fn read(message: &Message<'_>) -> (ClientContext, Vec<ContextWarning>, VendorFilledFields) {
    let mut reader = ContextReader { source: ContextPosition::Beside, warnings: Vec::new() };
    let mut context = ClientContext::default();
    // Where both are there and could be read, they are equal: a request with two contexts was refused.
    let beside = reader.object(ContextPosition::Beside, RawClientContext::beside_params(message));
    let in_meta = reader.object(ContextPosition::Meta, RawClientContext::in_meta(message));
    if let Some((source, object)) = beside.or(in_meta) {
        reader.source = source;
        reader.fields(object, &mut context);
    }
    let stated = (context.locale.is_some(), context.timezone.is_some(), context.place.is_some());
    for vendor in VENDOR_KEYS {
        if let Some(value) = message.meta(vendor.key) {
            reader.source = ContextPosition::Vendor(vendor.key);
            reader.read_vendor_key(&vendor.carries, value, &mut context);
        }
    }
    let filled = VendorFilledFields {
        locale: !stated.0 && context.locale.is_some(),
        timezone: !stated.1 && context.timezone.is_some(),
        place: !stated.2 && context.place.is_some(),
    };
    (context, reader.warnings, filled)
}

/// The locale that the keys of vendors name in a message.
pub(super) fn vendor_locale(message: &Message<'_>) -> Option<Tag> {
    let mut reader = ContextReader { source: ContextPosition::Beside, warnings: Vec::new() };
    let mut context = ClientContext::default();
    for vendor in VENDOR_KEYS {
        if let Some(value) = message.meta(vendor.key) {
            reader.read_vendor_key(&vendor.carries, value, &mut context);
        }
    }
    context.locale
}

/// Which fields of a context come from keys of vendors.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct VendorFilledFields {
    pub(crate) locale: bool,
    pub(crate) timezone: bool,
    pub(crate) place: bool,
}

fn locale(text: &str) -> Result<Tag, ClientContextError> {
    Tag::parse(text).map_err(ClientContextError::Locale)
}

struct ContextReader {
    source: ContextPosition,
    warnings: Vec<ContextWarning>,
}

impl ContextReader {
    fn warn(&mut self, field: &'static str, wrong: ClientContextError) {
        self.warnings.push(ContextWarning { source: self.source, field, wrong });
    }

    /// A whole context, where it is one.
    fn object<'a>(
        &mut self,
        source: ContextPosition,
        form: RawClientContext<'a>,
    ) -> Option<(ContextPosition, SpannedValue<'a>)> {
        let wrong = match form {
            RawClientContext::Absent => return None,
            RawClientContext::Object(object) => return Some((source, object)),
            RawClientContext::NotAnObject => ClientContextError::NotAnObject,
            RawClientContext::TooLarge => ClientContextError::TooLarge,
        };
        self.source = source;
        self.warn("", wrong);
        None
    }

    fn fields(&mut self, object: SpannedValue<'_>, context: &mut ClientContext) {
        object.walk().members(|name, walk| match name.decode().as_deref() {
            Some("timezone") => context.timezone = self.text("timezone", walk.value(), IanaTimeZone::parse),
            Some("currentTimestamp") => {
                context.instant = self.text("currentTimestamp", walk.value(), Rfc3339Instant::parse);
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
        value: SpannedValue<'_>,
        parse: impl FnOnce(&str) -> Result<T, ClientContextError>,
    ) -> Option<T> {
        let text = value.text().and_then(JsonString::decode);
        match text.ok_or(ClientContextError::NotText).and_then(|text| parse(&text)) {
            Ok(read) => Some(read),
            Err(wrong) => {
                self.warn(field, wrong);
                None
            }
        }
    }

    fn place(&mut self, walk: &mut JsonWalker<'_>) -> Option<UserLocation> {
        if walk.kind() != JsonKind::Object {
            self.warn("userLocation", ClientContextError::NotAnObject);
            return None;
        }
        let mut place = UserLocation::default();
        walk.members(|name, walk| match name.decode().as_deref() {
            Some("city") => place.city = self.text("userLocation.city", walk.value(), PlaceName::parse),
            Some("region") => place.region = self.text("userLocation.region", walk.value(), PlaceName::parse),
            Some("country") => {
                place.country = self.text("userLocation.country", walk.value(), Country::parse);
            }
            Some("coordinates") => place.coordinates = self.coordinates(walk),
            _ => {}
        });
        Some(place).filter(|place| !place.is_empty())
    }

    fn coordinates(&mut self, walk: &mut JsonWalker<'_>) -> Option<Coordinates> {
        if walk.kind() != JsonKind::Object {
            self.warn("userLocation.coordinates", ClientContextError::NotAnObject);
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
                self.warn("userLocation.coordinates", ClientContextError::Half);
                None
            }
            Err((axis, wrong)) => {
                let field = match axis {
                    None => "userLocation.coordinates",
                    Some(CoordinateAxis::Latitude) => "userLocation.coordinates.latitude",
                    Some(CoordinateAxis::Longitude) => "userLocation.coordinates.longitude",
                };
                self.warn(field, wrong);
                None
            }
        }
    }

    /// Fills from the value of a vendor key what the context still leaves open.
    fn read_vendor_key(
        &mut self,
        carries: &VendorValueShape,
        value: SpannedValue<'_>,
        context: &mut ClientContext,
    ) {
        let members = match carries {
            VendorValueShape::Value(field) => {
                let mut found = VendorValues::default();
                found.add_value(*field, "", value);
                return self.fill_missing(&found, context);
            }
            VendorValueShape::Members(members) => *members,
        };
        let Some((_, object)) = self.object(self.source, RawClientContext::classify(Some(value))) else {
            return;
        };
        let mut found = VendorValues::default();
        for (path, field) in members {
            let inside = path.iter().try_fold(object, |value, name| value.member(name));
            if let (Some(value), Some(name)) = (inside, path.last()) {
                found.add_value(*field, name, value);
            }
        }
        self.fill_missing(&found, context);
    }

    fn fill_missing(&mut self, found: &VendorValues<'_>, context: &mut ClientContext) {
        if context.locale.is_none() {
            context.locale = self.parse_vendor_field(found, VendorField::Locale, locale);
        }
        if context.timezone.is_none() {
            context.timezone = self.parse_vendor_field(found, VendorField::Timezone, IanaTimeZone::parse);
        }
        if context.place.is_none() {
            let place = UserLocation {
                city: self.parse_vendor_field(found, VendorField::City, PlaceName::parse),
                region: self.parse_vendor_field(found, VendorField::Region, PlaceName::parse),
                country: self.parse_vendor_field(found, VendorField::Country, Country::parse),
                coordinates: self.vendor_coordinates(found),
            };
            context.place = Some(place).filter(|place| !place.is_empty());
        }
    }

    fn parse_vendor_field<T>(
        &mut self,
        found: &VendorValues<'_>,
        field: VendorField,
        parse: impl FnOnce(&str) -> Result<T, ClientContextError>,
    ) -> Option<T> {
        let (name, value) = found.get(field)?;
        self.text(name, value, parse)
    }

    /// Coordinates as vendors send them: as numbers or as texts.
    fn vendor_coordinates(&mut self, found: &VendorValues<'_>) -> Option<Coordinates> {
        let value = |field| found.get(field).map(|(_, value)| value);
        let read = Coordinates::read(value(VendorField::Latitude), value(VendorField::Longitude), true);
        read.unwrap_or_else(|(axis, wrong)| {
            let field = match axis {
                None => "coordinates",
                Some(CoordinateAxis::Latitude) => "latitude",
                Some(CoordinateAxis::Longitude) => "longitude",
            };
            self.warn(field, wrong);
            None
        })
    }
}

/// What one vendor key says, by field, with the names of the members for warnings.
#[derive(Default)]
struct VendorValues<'a>(Vec<(VendorField, &'static str, SpannedValue<'a>)>);

impl<'a> VendorValues<'a> {
    fn add_value(&mut self, field: VendorField, name: &'static str, value: SpannedValue<'a>) {
        if value.kind() != JsonKind::Null {
            self.0.push((field, name, value));
        }
    }

    /// The first value that was offered for a field.
    fn get(&self, field: VendorField) -> Option<(&'static str, SpannedValue<'a>)> {
        self.0.iter().find(|(offered, ..)| *offered == field).map(|(_, name, value)| (*name, *value))
    }
}
