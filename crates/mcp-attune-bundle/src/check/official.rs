//! What the official tool says of a manifest.
//!
//! 1. `manifest_version` says which schema counts; where it is none that there is, `dxt_version` does.
//! 2. Everything in the manifest is held against that schema. It is strict: what it does not know is an error.
//! 3. The file that `icon` names has to be there and be a PNG picture.
//!
//! Where the document of the manifest allows what the schema refuses, the problem is told and does not stand: [`Leniency`].
//!
//! Rules: B1, B2, B6.

use std::borrow::Cow;

use mcp_attune_wire::json::{Text, Type, Value};

use super::collect::{At, Collect, here, path};
use super::schema::{Key, MANIFEST, Shape};
use crate::problem::{Breach, Format, Leniency, Level, What};
use crate::{Files, Inside, NoPicture, Size, Version};
use mcp_attune::catalog::Path;
use mcp_attune::near::nearest;

/// Holds a manifest against its schema; none where it says no version.
pub(super) fn look(root: Value<'_>, files: &dyn Files, found: &mut Collect) -> Option<Version> {
    let Some(version) = version(root) else {
        found.error(here(&Path::default(), root), What::Schema(Breach::NoVersion));
        return None;
    };
    Walk { version, found }.value(&Path::default(), root, &MANIFEST);
    if let Some(icon) = root.member("icon") {
        look_at_icon(icon, files, found);
    }
    Some(version)
}

/// The version that counts. As in JavaScript, only an object has members.
pub(super) fn version(root: Value<'_>) -> Option<Version> {
    let said = |name: &str| Version::parse(&lossy(root.member(name)?.text()?));
    said("manifest_version").or_else(|| said("dxt_version"))
}

/// A text as JavaScript hands it to what needs characters.
pub(super) fn lossy(text: Text<'_>) -> Cow<'_, str> {
    text.decode()
        .unwrap_or_else(|| text.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

struct Walk<'a> {
    version: Version,
    found: &'a mut Collect,
}

impl Walk<'_> {
    /// Goes no deeper than the schema does.
    fn value(&mut self, path: &Path, value: Value<'_>, shape: &Shape) {
        let wanted = match (shape, value.kind()) {
            (Shape::Text(format), Type::String) => return self.text(path, value, *format),
            (Shape::Word(words), Type::String) => return self.word(path, value, words),
            (Shape::Version, Type::String) => {
                if !value.text().is_some_and(|text| text.is(self.version.as_str())) {
                    self.wrong(path, value, Breach::OtherVersion { counts: self.version });
                }
                return;
            }
            (Shape::List(inner), Type::Array) => return self.list(path, value, inner),
            (Shape::Map(inner), Type::Object) => {
                for (name, value) in value.members() {
                    self.value(&path.with(&lossy(name)), value, inner);
                }
                return;
            }
            (Shape::Object(keys), Type::Object) => return self.object(path, value, keys),
            (Shape::Default, Type::Array) => return self.list(path, value, &Shape::Text(Format::Any)),
            (Shape::Number, Type::Number)
            | (Shape::Truth, Type::Boolean)
            | (Shape::Default, Type::String | Type::Number | Type::Boolean)
            | (Shape::Anything, _) => return,
            (Shape::Text(_) | Shape::Word(_) | Shape::Version, _) => "a text",
            (Shape::Number, _) => "a number",
            (Shape::Truth, _) => "true or false",
            (Shape::Default, _) => "a text, a number, true, false or a list of texts",
            (Shape::List(_), _) => "a list",
            (Shape::Map(_) | Shape::Object(_), _) => "an object",
        };
        self.wrong(path, value, Breach::WrongType { wanted, found: value.kind() });
    }

    fn list(&mut self, path: &Path, value: Value<'_>, inner: &Shape) {
        for (at, value) in value.elements().enumerate() {
            self.value(&path.with(&at.to_string()), value, inner);
        }
    }

    fn text(&mut self, path: &Path, value: Value<'_>, format: Format) {
        if format != Format::Any && !value.text().is_some_and(|text| format.fits(&lossy(text))) {
            self.wrong(path, value, Breach::Format(format));
        }
    }

    fn word(&mut self, path: &Path, value: Value<'_>, words: &[(&'static str, Version)]) {
        let words = words.iter().filter(|(_, since)| *since <= self.version).map(|(word, _)| *word);
        let words: Vec<&'static str> = words.collect();
        let found = value.text().map(lossy).unwrap_or_default();
        if !words.contains(&&*found) {
            self.wrong(path, value, Breach::NoSuchWord { found: found.into(), words });
        }
    }

    fn object(&mut self, path: &Path, object: Value<'_>, keys: &[Key]) {
        let known = || keys.iter().filter(|key| key.since <= self.version);
        let missing: Vec<&Key> =
            known().filter(|key| key.required && object.member(key.name).is_none()).collect();
        let known: Vec<&Key> = known().collect();
        for key in missing {
            let path = path.with(key.name);
            let accepted = self.lenient_about_missing(&path, object);
            self.found.push(here(&path, object), Level::Error, accepted, What::Schema(Breach::Missing));
        }
        for (name, value) in object.members() {
            if let Some(key) = known.iter().find(|key| name.is(key.name)) {
                self.value(&path.with(key.name), value, &key.shape);
                continue;
            }
            let name = lossy(name);
            let since = keys.iter().find(|key| key.name == name).map(|key| key.since);
            // Nobody reads it once there are enough; among few names it also decides.
            let near = if since.is_some() || (self.found.full() && known.len() > 8) {
                None
            } else {
                nearest(&name, known.iter().map(|key| key.name))
            };
            let path = path.with(&name);
            let accepted = lenient_about_unknown(&path, near.is_some(), value);
            let what = What::Schema(Breach::UnknownKey { near, since });
            self.found.push(here(&path, value), Level::Error, accepted, what);
        }
    }

    fn wrong(&mut self, path: &Path, value: Value<'_>, breach: Breach) {
        self.found.error(here(path, value), What::Schema(breach));
    }

    fn lenient_about_missing(&self, path: &Path, object: Value<'_>) -> Option<Leniency> {
        match path.names().collect::<Vec<_>>().as_slice() {
            ["localization", "resources"] => Some(Leniency::Resources),
            ["localization", "default_locale"] => Some(Leniency::DefaultLocale),
            ["icons", _, "size"] => {
                object.member("sizes").filter(|it| are_sizes(*it)).map(|_| Leniency::Sizes)
            }
            ["server", "mcp_config"] => {
                let uv = object.member("type").and_then(Value::text).is_some_and(|kind| kind.is("uv"));
                (uv && self.version >= Version::V0_4).then_some(Leniency::Uv)
            }
            _ => None,
        }
    }
}

fn lenient_about_unknown(path: &Path, near: bool, value: Value<'_>) -> Option<Leniency> {
    match path.names().collect::<Vec<_>>().as_slice() {
        ["icons", _, "sizes"] => are_sizes(value).then_some(Leniency::Sizes),
        ["compatibility", _] => (!near && value.kind() == Type::String).then_some(Leniency::Client),
        _ => None,
    }
}

/// Whether it is `64x64 128x128`, or a list of such.
fn are_sizes(value: Value<'_>) -> bool {
    let sizes = |value: Value<'_>| {
        let text = value.text().map(lossy).unwrap_or_default();
        let mut sizes = text.split_ascii_whitespace().peekable();
        sizes.peek().is_some() && sizes.all(|size| Size::parse(size).is_some())
    };
    match value.kind() {
        Type::Array => value.elements().next().is_some() && value.elements().all(sizes),
        _ => sizes(value),
    }
}

/// The official tool looks at the file of `icon`, and at no other.
fn look_at_icon(value: Value<'_>, files: &dyn Files, found: &mut Collect) {
    let Some(icon) = value.text().map(lossy).filter(|icon| !icon.is_empty()) else { return };
    let path = path(&["icon"]);
    let at: At<'_> = here(&path, value);
    let remote = icon.starts_with("http://") || icon.starts_with("https://");
    let (variable, absolute) = (icon.contains("${__dirname}"), icon.starts_with('/'));
    if remote {
        found.warn(at, What::Schema(Breach::IconRemote));
    }
    if variable {
        found.error(at, What::Schema(Breach::IconVariable));
    }
    if absolute {
        found.error(at, What::Schema(Breach::IconAbsolute));
    }
    if remote || variable || absolute {
        return;
    }
    // A name that ends so is a folder's.
    let inside = Inside::parse(&icon).ok().filter(|_| !icon.ends_with('/'));
    match inside.map_or(Err(NoPicture::Missing), |inside| files.picture(&inside)) {
        Err(NoPicture::Missing) => found.error(at, What::Schema(Breach::IconMissing)),
        Err(NoPicture::NotPng) => found.error(at, What::Schema(Breach::IconNotPng)),
        // The official tool looks at the first bytes only.
        Ok(_) | Err(NoPicture::Broken | NoPicture::TooLarge) => {}
    }
}
