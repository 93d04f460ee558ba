//! One request's context, field by field.

use mcp_attune_wire::context::Form;
use mcp_attune_wire::json::{Text, Type, Value, Walk};
use mcp_attune_wire::message::Message;

use super::ClientContext;
use super::country::Country;
use super::instant::Instant;
use super::place::{Axis, Coordinates, Name, Place};
use super::wrong::{Source, Warning, Wrong};
use super::zone::Zone;
use crate::language::Tag;

const OPENAI_LOCALE: &str = "openai/locale";
const OPENAI_LOCATION: &str = "openai/userLocation";

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
    if context.locale.is_none()
        && let Some(value) = message.meta(OPENAI_LOCALE)
    {
        reader.source = Source::OpenAiLocale;
        context.locale = reader.text("", value, locale);
    }
    if context.place.is_none()
        && let Some((source, object)) =
            reader.object(Source::OpenAiLocation, Form::of(message.meta(OPENAI_LOCATION)))
    {
        reader.source = source;
        context.place = reader.flat_place(object);
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

    /// The place of OpenAI's clients: degrees stand beside the names, as numbers or as texts, and what is not known is
    /// null.
    fn flat_place(&mut self, object: Value<'_>) -> Option<Place> {
        let known = |name| object.member(name).filter(|value| value.kind() != Type::Null);
        let mut place = Place::default();
        if let Some(value) = known("city") {
            place.city = self.text("city", value, Name::parse);
        }
        if let Some(value) = known("region") {
            place.region = self.text("region", value, Name::parse);
        }
        if let Some(value) = known("country") {
            place.country = self.text("country", value, Country::parse);
        }
        place.coordinates = match known("coordinates") {
            Some(value) => Coordinates::read(value.member("latitude"), value.member("longitude"), true),
            None => Coordinates::read(known("latitude"), known("longitude"), true),
        }
        .unwrap_or_else(|(axis, wrong)| {
            let field = match axis {
                None => "coordinates",
                Some(Axis::Latitude) => "latitude",
                Some(Axis::Longitude) => "longitude",
            };
            self.warn(field, wrong);
            None
        });
        Some(place).filter(|place| !place.is_empty())
    }
}
