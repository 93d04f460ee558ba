//! The checks of the official tool, reproduced.
//!
//! 1. `manifest_version` selects the schema; if it is no known version, `dxt_version` does.
//! 2. The whole manifest is validated with that schema, which is strict: an unknown key is an error.
//! 3. The file that `icon` names has to be in the bundle, and has to be a PNG.
//!
//! If the specification of the manifest allows what the schema refuses, the problem is reported and marked as
//! accepted: [`AcceptedDeviation`].
//!
//! Rules: B1, B2, B6.

use std::borrow::Cow;

use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

use super::collect::{BundleProblemCollector, BundleProblemLocation, manifest_location, path};
use super::schema::{MANIFEST, ManifestKey, ManifestShape};
use crate::problem::{
    AcceptedDeviation, BundleProblemKind, BundleProblemLevel, ManifestSchemaProblem, ManifestTextFormat,
};
use crate::{BundleFileName, BundleFiles, ManifestVersion, PictureError, PixelSize};
use mcp_attune::catalog::LocaleKeyPath;
use mcp_attune::suggestion::nearest;

/// Validates a manifest with the schema of its version, and returns that version.
///
/// Returns `None` if the manifest names no known version, which is then the only problem reported.
pub(super) fn check_official_schema(
    root: SpannedValue<'_>,
    files: &dyn BundleFiles,
    found: &mut BundleProblemCollector,
) -> Option<ManifestVersion> {
    let Some(version) = version(root) else {
        found.error(
            manifest_location(&LocaleKeyPath::default(), root),
            BundleProblemKind::Schema(ManifestSchemaProblem::NoVersion),
        );
        return None;
    };
    ManifestSchemaWalk { version, found }.value(&LocaleKeyPath::default(), root, &MANIFEST);
    if let Some(icon) = root.member("icon") {
        check_icon_file(icon, files, found);
    }
    Some(version)
}

/// Returns the version that selects the schema. A root that is not an object has none.
pub(super) fn version(root: SpannedValue<'_>) -> Option<ManifestVersion> {
    let said = |name: &str| ManifestVersion::parse(&decode_lossy(root.member(name)?.text()?));
    said("manifest_version").or_else(|| said("dxt_version"))
}

/// Decodes a JSON string; a lone surrogate, which JavaScript allows, becomes U+FFFD.
pub(super) fn decode_lossy(text: JsonString<'_>) -> Cow<'_, str> {
    text.decode()
        .unwrap_or_else(|| text.chars().map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// One walk over a manifest along the schema.
struct ManifestSchemaWalk<'a> {
    version: ManifestVersion,
    found: &'a mut BundleProblemCollector,
}

impl ManifestSchemaWalk<'_> {
    /// Validates one value. The recursion is as deep as the schema, not as deep as the manifest.
    fn value(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>, shape: &ManifestShape) {
        let wanted = match (shape, value.kind()) {
            (ManifestShape::Text(format), JsonKind::String) => return self.text(path, value, *format),
            (ManifestShape::Word(words), JsonKind::String) => return self.word(path, value, words),
            (ManifestShape::Version, JsonKind::String) => {
                if !value.text().is_some_and(|text| text.is(self.version.as_str())) {
                    self.report_problem(
                        path,
                        value,
                        ManifestSchemaProblem::OtherVersion { counts: self.version },
                    );
                }
                return;
            }
            (ManifestShape::List(inner), JsonKind::Array) => return self.list(path, value, inner),
            (ManifestShape::Map(inner), JsonKind::Object) => {
                for (name, value) in value.members() {
                    self.value(&path.with(&decode_lossy(name)), value, inner);
                }
                return;
            }
            (ManifestShape::Object(keys), JsonKind::Object) => return self.object(path, value, keys),
            (ManifestShape::Default, JsonKind::Array) => {
                return self.list(path, value, &ManifestShape::Text(ManifestTextFormat::Any));
            }
            (ManifestShape::Number, JsonKind::Number)
            | (ManifestShape::Truth, JsonKind::Boolean)
            | (ManifestShape::Default, JsonKind::String | JsonKind::Number | JsonKind::Boolean)
            | (ManifestShape::Anything, _) => return,
            (ManifestShape::Text(_) | ManifestShape::Word(_) | ManifestShape::Version, _) => "a text",
            (ManifestShape::Number, _) => "a number",
            (ManifestShape::Truth, _) => "true or false",
            (ManifestShape::Default, _) => "a text, a number, true, false or a list of texts",
            (ManifestShape::List(_), _) => "a list",
            (ManifestShape::Map(_) | ManifestShape::Object(_), _) => "an object",
        };
        self.report_problem(path, value, ManifestSchemaProblem::WrongType { wanted, found: value.kind() });
    }

    fn list(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>, inner: &ManifestShape) {
        for (at, value) in value.elements().enumerate() {
            self.value(&path.with(&at.to_string()), value, inner);
        }
    }

    fn text(&mut self, path: &LocaleKeyPath, value: SpannedValue<'_>, format: ManifestTextFormat) {
        if format != ManifestTextFormat::Any
            && !value.text().is_some_and(|text| format.fits(&decode_lossy(text)))
        {
            self.report_problem(path, value, ManifestSchemaProblem::Format(format));
        }
    }

    /// Validates a word against those that the selected version allows.
    fn word(
        &mut self,
        path: &LocaleKeyPath,
        value: SpannedValue<'_>,
        words: &[(&'static str, ManifestVersion)],
    ) {
        let words = words.iter().filter(|(_, since)| *since <= self.version).map(|(word, _)| *word);
        let words: Vec<&'static str> = words.collect();
        let found = value.text().map(decode_lossy).unwrap_or_default();
        if !words.contains(&&*found) {
            self.report_problem(
                path,
                value,
                ManifestSchemaProblem::NoSuchWord { found: found.into(), words },
            );
        }
    }

    /// Validates an object: missing keys first, then each member, which is validated, or reported as unknown
    /// with a suggestion.
    fn object(&mut self, path: &LocaleKeyPath, object: SpannedValue<'_>, keys: &[ManifestKey]) {
        let known = || keys.iter().filter(|key| key.since <= self.version);
        let missing: Vec<&ManifestKey> =
            known().filter(|key| key.required && object.member(key.name).is_none()).collect();
        let known: Vec<&ManifestKey> = known().collect();
        for key in missing {
            let path = path.with(key.name);
            let accepted = self.lenient_about_missing(&path, object);
            self.found.push(
                manifest_location(&path, object),
                BundleProblemLevel::Error,
                accepted,
                BundleProblemKind::Schema(ManifestSchemaProblem::Missing),
            );
        }
        for (name, value) in object.members() {
            if let Some(key) = known.iter().find(|key| name.is(key.name)) {
                self.value(&path.with(key.name), value, &key.shape);
                continue;
            }
            let name = decode_lossy(name);
            let since = keys.iter().find(|key| key.name == name).map(|key| key.since);
            // Nobody reads it once there are enough; among few names it also decides.
            let near = if since.is_some() || (self.found.is_full() && known.len() > 8) {
                None
            } else {
                nearest(&name, known.iter().map(|key| key.name))
            };
            let path = path.with(&name);
            let accepted = lenient_about_unknown(&path, near.is_some(), value);
            let what = BundleProblemKind::Schema(ManifestSchemaProblem::UnknownKey { near, since });
            self.found.push(manifest_location(&path, value), BundleProblemLevel::Error, accepted, what);
        }
    }

    fn report_problem(
        &mut self,
        path: &LocaleKeyPath,
        value: SpannedValue<'_>,
        breach: ManifestSchemaProblem,
    ) {
        self.found.error(manifest_location(path, value), BundleProblemKind::Schema(breach));
    }

    /// Returns the deviation by which the specification allows that this key is missing.
    fn lenient_about_missing(
        &self,
        path: &LocaleKeyPath,
        object: SpannedValue<'_>,
    ) -> Option<AcceptedDeviation> {
        match path.names().collect::<Vec<_>>().as_slice() {
            ["localization", "resources"] => Some(AcceptedDeviation::Resources),
            ["localization", "default_locale"] => Some(AcceptedDeviation::DefaultLocale),
            ["icons", _, "size"] => {
                object.member("sizes").filter(|it| are_sizes(*it)).map(|_| AcceptedDeviation::Sizes)
            }
            ["server", "mcp_config"] => {
                let uv = object.member("type").and_then(SpannedValue::text).is_some_and(|kind| kind.is("uv"));
                (uv && self.version >= ManifestVersion::V0_4).then_some(AcceptedDeviation::Uv)
            }
            _ => None,
        }
    }
}

/// Returns the deviation by which the specification allows this unknown key.
///
/// A client's name that resembles a known key (`near`) is taken for a typing error instead.
fn lenient_about_unknown(
    path: &LocaleKeyPath,
    near: bool,
    value: SpannedValue<'_>,
) -> Option<AcceptedDeviation> {
    match path.names().collect::<Vec<_>>().as_slice() {
        ["icons", _, "sizes"] => are_sizes(value).then_some(AcceptedDeviation::Sizes),
        ["compatibility", _] => {
            (!near && value.kind() == JsonKind::String).then_some(AcceptedDeviation::Client)
        }
        _ => None,
    }
}

/// Returns whether a value is a text such as `64x64 128x128`, or a list of such texts, neither empty.
fn are_sizes(value: SpannedValue<'_>) -> bool {
    let sizes = |value: SpannedValue<'_>| {
        let text = value.text().map(decode_lossy).unwrap_or_default();
        let mut sizes = text.split_ascii_whitespace().peekable();
        sizes.peek().is_some() && sizes.all(|size| PixelSize::parse(size).is_some())
    };
    match value.kind() {
        JsonKind::Array => value.elements().next().is_some() && value.elements().all(sizes),
        _ => sizes(value),
    }
}

/// Checks the file of `icon` as the official tool does, which looks at no other picture and only at the first
/// bytes of this one.
fn check_icon_file(value: SpannedValue<'_>, files: &dyn BundleFiles, found: &mut BundleProblemCollector) {
    let Some(icon) = value.text().map(decode_lossy).filter(|icon| !icon.is_empty()) else { return };
    let path = path(&["icon"]);
    let at: BundleProblemLocation<'_> = manifest_location(&path, value);
    let remote = icon.starts_with("http://") || icon.starts_with("https://");
    let (variable, absolute) = (icon.contains("${__dirname}"), icon.starts_with('/'));
    if remote {
        found.warn(at, BundleProblemKind::Schema(ManifestSchemaProblem::IconRemote));
    }
    if variable {
        found.error(at, BundleProblemKind::Schema(ManifestSchemaProblem::IconVariable));
    }
    if absolute {
        found.error(at, BundleProblemKind::Schema(ManifestSchemaProblem::IconAbsolute));
    }
    if remote || variable || absolute {
        return;
    }
    // A name that ends so is a folder's.
    let inside = BundleFileName::parse(&icon).ok().filter(|_| !icon.ends_with('/'));
    match inside.map_or(Err(PictureError::Missing), |inside| files.picture(&inside)) {
        Err(PictureError::Missing) => {
            found.error(at, BundleProblemKind::Schema(ManifestSchemaProblem::IconMissing));
        }
        Err(PictureError::NotPng) => {
            found.error(at, BundleProblemKind::Schema(ManifestSchemaProblem::IconNotPng));
        }
        // The official tool looks at the first bytes only.
        Ok(_) | Err(PictureError::Broken | PictureError::TooLarge) => {}
    }
}
