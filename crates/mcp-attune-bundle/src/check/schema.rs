//! The official JSON schemas of all four manifest versions, merged into one table.
//!
//! Each key and word has the version that introduced it; nothing was ever removed, so one table describes all
//! versions.

use crate::ManifestVersion::{self, V0_1, V0_2, V0_3, V0_4};
use crate::problem::ManifestTextFormat;

/// What the schema allows as a value.
#[derive(Clone, Copy, Debug)]
pub(super) enum ManifestShape {
    /// A string of this format.
    Text(ManifestTextFormat),
    /// A string that is one of these words, each allowed from a version on.
    Word(&'static [(&'static str, ManifestVersion)]),
    /// A string equal to the version whose schema is used.
    Version,
    Number,
    Truth,
    /// The default of a setting: a string, a number, a boolean or a list of strings.
    Default,
    /// An array whose elements all have this shape.
    List(&'static ManifestShape),
    /// An object with any names, whose values all have this shape.
    Map(&'static ManifestShape),
    /// An object with these keys and no others.
    Object(&'static [ManifestKey]),
    /// Any JSON value.
    Anything,
}

/// A key of an object in the schema.
#[derive(Clone, Copy, Debug)]
pub(super) struct ManifestKey {
    pub(super) name: &'static str,
    pub(super) shape: ManifestShape,
    pub(super) required: bool,
    /// The version that introduced it. Before that, the key is unknown.
    pub(super) since: ManifestVersion,
}

const fn required(name: &'static str, shape: ManifestShape) -> ManifestKey {
    ManifestKey { name, shape, required: true, since: V0_1 }
}

const fn optional(name: &'static str, shape: ManifestShape) -> ManifestKey {
    ManifestKey { name, shape, required: false, since: V0_1 }
}

const fn since(since: ManifestVersion, key: ManifestKey) -> ManifestKey {
    ManifestKey { since, ..key }
}

const TEXT: ManifestShape = ManifestShape::Text(ManifestTextFormat::Any);
const TEXTS: ManifestShape = ManifestShape::List(&TEXT);
const URL: ManifestShape = ManifestShape::Text(ManifestTextFormat::Url);

/// The shape of a whole manifest, at which validation starts.
pub(super) const MANIFEST: ManifestShape = ManifestShape::Object(&[
    optional("$schema", TEXT),
    optional("dxt_version", ManifestShape::Version),
    optional("manifest_version", ManifestShape::Version),
    required("name", TEXT),
    optional("display_name", TEXT),
    required("version", TEXT),
    required("description", TEXT),
    optional("long_description", TEXT),
    required(
        "author",
        ManifestShape::Object(&[
            required("name", TEXT),
            optional("email", ManifestShape::Text(ManifestTextFormat::Email)),
            optional("url", URL),
        ]),
    ),
    optional("repository", ManifestShape::Object(&[required("type", TEXT), required("url", URL)])),
    optional("homepage", URL),
    optional("documentation", URL),
    optional("support", URL),
    optional("icon", TEXT),
    since(V0_3, optional("icons", ManifestShape::List(&ICON))),
    optional("screenshots", TEXTS),
    since(V0_3, optional("localization", LOCALIZATION)),
    required("server", SERVER),
    optional(
        "tools",
        ManifestShape::List(&ManifestShape::Object(&[required("name", TEXT), optional("description", TEXT)])),
    ),
    optional("tools_generated", ManifestShape::Truth),
    optional("prompts", ManifestShape::List(&PROMPT)),
    optional("prompts_generated", ManifestShape::Truth),
    optional("keywords", TEXTS),
    optional("license", TEXT),
    since(V0_2, optional("privacy_policies", ManifestShape::List(&URL))),
    optional("compatibility", COMPATIBILITY),
    optional("user_config", ManifestShape::Map(&SETTING)),
    since(V0_3, optional("_meta", ManifestShape::Map(&ManifestShape::Map(&ManifestShape::Anything)))),
]);

const ICON: ManifestShape = ManifestShape::Object(&[
    required("src", TEXT),
    required("size", ManifestShape::Text(ManifestTextFormat::Size)),
    optional("theme", ManifestShape::Text(ManifestTextFormat::NotEmpty)),
]);

const LOCALIZATION: ManifestShape = ManifestShape::Object(&[
    required("resources", ManifestShape::Text(ManifestTextFormat::Placeholder)),
    required("default_locale", ManifestShape::Text(ManifestTextFormat::Locale)),
]);

const SERVER: ManifestShape = ManifestShape::Object(&[
    required(
        "type",
        ManifestShape::Word(&[("python", V0_1), ("node", V0_1), ("binary", V0_1), ("uv", V0_4)]),
    ),
    required("entry_point", TEXT),
    required(
        "mcp_config",
        ManifestShape::Object(&[
            required("command", TEXT),
            ARGS,
            ENV,
            optional("platform_overrides", ManifestShape::Map(&OVERRIDE)),
        ]),
    ),
]);

const ARGS: ManifestKey = optional("args", TEXTS);
const ENV: ManifestKey = optional("env", ManifestShape::Map(&TEXT));
const OVERRIDE: ManifestShape = ManifestShape::Object(&[optional("command", TEXT), ARGS, ENV]);

const PROMPT: ManifestShape = ManifestShape::Object(&[
    required("name", TEXT),
    optional("description", TEXT),
    optional("arguments", TEXTS),
    required("text", TEXT),
]);

const COMPATIBILITY: ManifestShape = ManifestShape::Object(&[
    optional("claude_desktop", TEXT),
    optional(
        "platforms",
        ManifestShape::List(&ManifestShape::Word(&[("darwin", V0_1), ("win32", V0_1), ("linux", V0_1)])),
    ),
    optional("runtimes", ManifestShape::Object(&[optional("python", TEXT), optional("node", TEXT)])),
]);

const SETTING: ManifestShape = ManifestShape::Object(&[
    required(
        "type",
        ManifestShape::Word(&[
            ("string", V0_1),
            ("number", V0_1),
            ("boolean", V0_1),
            ("directory", V0_1),
            ("file", V0_1),
        ]),
    ),
    required("title", TEXT),
    required("description", TEXT),
    optional("required", ManifestShape::Truth),
    optional("default", ManifestShape::Default),
    optional("multiple", ManifestShape::Truth),
    optional("sensitive", ManifestShape::Truth),
    optional("min", ManifestShape::Number),
    optional("max", ManifestShape::Number),
]);
