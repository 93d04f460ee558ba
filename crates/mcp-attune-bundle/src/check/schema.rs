//! What the official schemas of the four versions allow, in one table.

use crate::Version::{self, V0_1, V0_2, V0_3, V0_4};
use crate::problem::Format;

/// What may stand somewhere.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    /// A text of this format.
    Text(Format),
    /// A text that is one of these words, each from a version on.
    Word(&'static [(&'static str, Version)]),
    /// The version of the manifest itself.
    Version,
    Number,
    Truth,
    /// What a setting is when nothing is set: a text, a number, a truth value or a list of texts.
    Default,
    /// Several of one shape.
    List(&'static Shape),
    /// Any names, each with something of one shape.
    Map(&'static Shape),
    /// These names and no others.
    Object(&'static [Key]),
    Anything,
}

/// What may stand under a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) required: bool,
    /// The version that it came with.
    pub(super) since: Version,
}

const fn must(name: &'static str, shape: Shape) -> Key {
    Key { name, shape, required: true, since: V0_1 }
}

const fn may(name: &'static str, shape: Shape) -> Key {
    Key { name, shape, required: false, since: V0_1 }
}

const fn since(since: Version, key: Key) -> Key {
    Key { since, ..key }
}

const TEXT: Shape = Shape::Text(Format::Any);
const TEXTS: Shape = Shape::List(&TEXT);
const URL: Shape = Shape::Text(Format::Url);

/// A manifest.
pub(super) const MANIFEST: Shape = Shape::Object(&[
    may("$schema", TEXT),
    may("dxt_version", Shape::Version),
    may("manifest_version", Shape::Version),
    must("name", TEXT),
    may("display_name", TEXT),
    must("version", TEXT),
    must("description", TEXT),
    may("long_description", TEXT),
    must(
        "author",
        Shape::Object(&[must("name", TEXT), may("email", Shape::Text(Format::Email)), may("url", URL)]),
    ),
    may("repository", Shape::Object(&[must("type", TEXT), must("url", URL)])),
    may("homepage", URL),
    may("documentation", URL),
    may("support", URL),
    may("icon", TEXT),
    since(V0_3, may("icons", Shape::List(&ICON))),
    may("screenshots", TEXTS),
    since(V0_3, may("localization", LOCALIZATION)),
    must("server", SERVER),
    may("tools", Shape::List(&Shape::Object(&[must("name", TEXT), may("description", TEXT)]))),
    may("tools_generated", Shape::Truth),
    may("prompts", Shape::List(&PROMPT)),
    may("prompts_generated", Shape::Truth),
    may("keywords", TEXTS),
    may("license", TEXT),
    since(V0_2, may("privacy_policies", Shape::List(&URL))),
    may("compatibility", COMPATIBILITY),
    may("user_config", Shape::Map(&SETTING)),
    since(V0_3, may("_meta", Shape::Map(&Shape::Map(&Shape::Anything)))),
]);

const ICON: Shape = Shape::Object(&[
    must("src", TEXT),
    must("size", Shape::Text(Format::Size)),
    may("theme", Shape::Text(Format::NotEmpty)),
]);

const LOCALIZATION: Shape = Shape::Object(&[
    must("resources", Shape::Text(Format::Placeholder)),
    must("default_locale", Shape::Text(Format::Locale)),
]);

const SERVER: Shape = Shape::Object(&[
    must("type", Shape::Word(&[("python", V0_1), ("node", V0_1), ("binary", V0_1), ("uv", V0_4)])),
    must("entry_point", TEXT),
    must(
        "mcp_config",
        Shape::Object(&[must("command", TEXT), ARGS, ENV, may("platform_overrides", Shape::Map(&OVERRIDE))]),
    ),
]);

const ARGS: Key = may("args", TEXTS);
const ENV: Key = may("env", Shape::Map(&TEXT));
const OVERRIDE: Shape = Shape::Object(&[may("command", TEXT), ARGS, ENV]);

const PROMPT: Shape = Shape::Object(&[
    must("name", TEXT),
    may("description", TEXT),
    may("arguments", TEXTS),
    must("text", TEXT),
]);

const COMPATIBILITY: Shape = Shape::Object(&[
    may("claude_desktop", TEXT),
    may("platforms", Shape::List(&Shape::Word(&[("darwin", V0_1), ("win32", V0_1), ("linux", V0_1)]))),
    may("runtimes", Shape::Object(&[may("python", TEXT), may("node", TEXT)])),
]);

const SETTING: Shape = Shape::Object(&[
    must(
        "type",
        Shape::Word(&[
            ("string", V0_1),
            ("number", V0_1),
            ("boolean", V0_1),
            ("directory", V0_1),
            ("file", V0_1),
        ]),
    ),
    must("title", TEXT),
    must("description", TEXT),
    may("required", Shape::Truth),
    may("default", Shape::Default),
    may("multiple", Shape::Truth),
    may("sensitive", Shape::Truth),
    may("min", Shape::Number),
    may("max", Shape::Number),
]);
