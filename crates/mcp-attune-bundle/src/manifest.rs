//! The parsed `manifest.json`, as far as its values have the expected types.

use core::fmt;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::JsonParseError;

use super::icon::{ManifestIcon, PixelSize};
use super::locale_path::LocalePath;
use super::version::ManifestVersion;
use mcp_attune::catalog;
use mcp_attune::language::Tag;

/// A parsed `manifest.json`.
///
/// Parsing is lenient, so that a bundle with mistakes can still be shown, localized and started: a value that
/// is missing or of the wrong type is `None` or absent here, and [`check`](fn@crate::check) reports it. Keys that
/// have no field remain in [`text`](Self::text), which every output is spliced from.
///
/// Rules: B1.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Manifest {
    /// The JSON text of the file, without a byte order mark and otherwise unchanged.
    pub text: Box<str>,
    /// The format version, from `manifest_version` or else `dxt_version`; `None` if neither names a known one.
    pub version: Option<ManifestVersion>,
    /// `name`: the identifier of the bundle for machines. It is not localized.
    pub name: Option<Box<str>>,
    /// `version`: the version of the bundle itself, which should be a semantic version.
    pub release: Option<Box<str>>,
    /// `display_name`: the name for people.
    pub display_name: Option<Box<str>>,
    /// `description`: what the bundle does, in one line.
    pub description: Option<Box<str>>,
    /// `long_description`: what the bundle does, in full, usually as Markdown.
    pub long_description: Option<Box<str>>,
    /// `keywords`: search terms. Elements that are not strings are left out.
    pub keywords: Vec<Box<str>>,
    /// `author.name`: the person or company that made the bundle.
    pub author: Option<Box<str>>,
    /// `tools`: the tools that the manifest lists. Entries without a name are left out.
    pub tools: Vec<ManifestEntry>,
    /// `prompts`: the prompts that the manifest lists. Entries without a name are left out.
    pub prompts: Vec<ManifestEntry>,
    /// `icon`: the path of a single icon, which versions before 0.3 have instead of `icons`.
    pub icon: Option<Box<str>>,
    /// `icons`, one value for each size, at most [`Manifest::MAX_ICONS`]. Entries without a `src` are left out.
    pub icons: Vec<ManifestIcon>,
    /// `screenshots`: paths of pictures that show the bundle in use.
    pub screenshots: Vec<Box<str>>,
    /// `localization`: where locale files are. `None` if the key is missing or cannot be used; then nothing is
    /// localized.
    pub localization: Option<Localization>,
    /// `server`: the program of the bundle; `None` if it is not an object.
    pub server: Option<ManifestServer>,
    /// `user_config`: the settings that the user of a host can make, in the order of the file.
    pub user_config: Vec<UserConfigSetting>,
}

/// A tool or a prompt that a manifest lists. The running server may have others.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ManifestEntry {
    /// Its name in MCP messages, by which locale files refer to it.
    pub name: Box<str>,
    /// What it does, in the manifest's own language.
    pub description: Option<Box<str>>,
}

/// The `localization` of a manifest: where its locale files are, and which language it is itself written in.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Localization {
    /// `resources`: the path template of the locale files, as written. It may lead out of the bundle until it
    /// is normalized.
    pub resources: LocalePath,
    /// `default_locale`: the language of the manifest's own texts.
    pub default_locale: Tag,
}

impl Localization {
    /// Value of `resources` if the manifest leaves it out.
    pub const DEFAULT_RESOURCES: &str = "mcpb-resources/${locale}.json";
    /// Value of `default_locale` if the manifest leaves it out.
    pub const DEFAULT_LOCALE: &str = "en-US";
}

/// The `server` of a manifest: the program that a host runs, and talks MCP to over its standard input and
/// output.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ManifestServer {
    /// `type`: `node`, `python`, `binary` or `uv`. Other words are kept; the check reports them.
    pub kind: Option<Box<str>>,
    /// `entry_point`: the main file of the program, relative to the bundle. The command is made of it only if
    /// the type is `uv` and there is no `mcp_config`.
    pub entry_point: Option<Box<str>>,
    /// `mcp_config`: how the program is started; `None` if it is not an object.
    pub mcp_config: Option<McpConfig>,
}

/// The command line of a bundle's server, with its variants for platforms.
///
/// [`BundleLaunchCommand::from_manifest`](crate::BundleLaunchCommand::from_manifest) makes a command of it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct McpConfig {
    /// The parts that apply on every platform.
    pub base: PartialCommandLine,
    /// `platform_overrides`: parts that replace those of [`base`](Self::base) on one platform, keyed by
    /// `darwin`, `win32` or `linux`.
    pub platforms: Vec<(Box<str>, PartialCommandLine)>,
}

/// Some parts of a command line. In an override, a part that is `None` is taken from the base.
///
/// Texts may contain variables such as `${__dirname}` and `${user_config.KEY}`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PartialCommandLine {
    /// The program: a path, or a name that the system looks up.
    pub command: Option<Box<str>>,
    /// The arguments. An override replaces all of them; elements that are not strings are left out.
    pub args: Option<Vec<Box<str>>>,
    /// Environment variables, by name. An override replaces all of them, also with none.
    pub env: Option<Vec<(Box<str>, Box<str>)>>,
}

/// One setting of `user_config`: a value that a host asks its user for when the bundle is installed.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct UserConfigSetting {
    /// Its key, by which `${user_config.KEY}` refers to it.
    pub key: Box<str>,
    /// `type`: `string`, `number`, `boolean`, `directory` or `file`.
    pub kind: Option<Box<str>>,
    /// `title`: the label that the user sees. Locale files cannot translate it.
    pub title: Option<Box<str>>,
    /// `description`: the explanation that the user sees. Locale files cannot translate it.
    pub description: Option<Box<str>>,
    /// Whether the server cannot be started without a value that is not empty.
    pub required: bool,
    /// Whether several values can be given, as for a list of directories.
    pub multiple: bool,
    /// Whether the value is a secret, which hosts hide and store accordingly.
    pub sensitive: bool,
    /// The values that apply if the user sets nothing, numbers and booleans in their JSON spelling. `None` if
    /// there is no default, or one of another type. Host variables such as `${HOME}` are replaced in it.
    pub default: Option<Vec<Box<str>>>,
    /// Whether the default is written as a list, even of one element.
    pub default_is_list: bool,
    /// The smallest number that is accepted, if `kind` is `number`.
    pub min: Option<f64>,
    /// The largest number that is accepted, if `kind` is `number`.
    pub max: Option<f64>,
}

/// Why a manifest cannot be parsed at all. Everything less severe is reported by [`check`](fn@crate::check).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestError {
    /// The file has more than [`Manifest::MAX_BYTES`] bytes.
    TooLarge,
    /// The file is not JSON, or is JSON that two readers could understand differently, such as with a repeated
    /// name.
    Unreadable(JsonParseError),
    /// The file is valid JSON, but not an object.
    NoObject,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("too large for a manifest; at most 4 MiB are read"),
            // In the words that a locale file gets.
            Self::Unreadable(why) => catalog::LocaleFileError::Unreadable(*why).fmt(f),
            Self::NoObject => f.write_str("no JSON object; a manifest begins with { and ends with }"),
        }
    }
}

impl core::error::Error for ManifestError {}

impl Manifest {
    /// Name of the manifest, which lies at the top of the bundle.
    pub const FILE_NAME: &str = "manifest.json";
    /// Maximum size of a manifest in bytes: 4 MiB.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;
    /// Maximum number of icons that are kept; further ones are ignored.
    pub const MAX_ICONS: usize = 1000;

    /// Parses a manifest. A byte order mark at the beginning is skipped.
    ///
    /// # Errors
    ///
    /// [`ManifestError`] if the file is too large, is not JSON, or is not an object.
    pub fn read(file: &[u8]) -> Result<Self, ManifestError> {
        if file.len() > Self::MAX_BYTES {
            return Err(ManifestError::TooLarge);
        }
        // Editors on Windows still write it, and it says nothing.
        let file = file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file);
        let read = Document::parse(file).map_err(ManifestError::Unreadable)?;
        let root = read.root();
        if root.kind() != JsonKind::Object {
            return Err(ManifestError::NoObject);
        }
        let said = |name: &str| root.member(name).and_then(string);
        let version = |name: &str| said(name).and_then(|text| ManifestVersion::parse(&text));
        Ok(Self {
            text: read.text().into(),
            version: version("manifest_version").or_else(|| version("dxt_version")),
            name: said("name"),
            release: said("version"),
            display_name: said("display_name"),
            description: said("description"),
            long_description: said("long_description"),
            keywords: root.member("keywords").map(strings).unwrap_or_default(),
            author: root.member("author").and_then(|author| author.member("name")).and_then(string),
            tools: listed(root.member("tools")),
            prompts: listed(root.member("prompts")),
            icon: said("icon"),
            icons: elements(root.member("icons")).flat_map(icons).take(Self::MAX_ICONS).collect(),
            screenshots: root.member("screenshots").map(strings).unwrap_or_default(),
            localization: root.member("localization").and_then(localization),
            server: root.member("server").filter(|it| it.kind() == JsonKind::Object).map(server),
            user_config: members(root.member("user_config"))
                .map(|(key, value)| setting(key, value))
                .collect(),
        })
    }

    /// Counts the titles and descriptions of settings. Hosts show them when a bundle is installed, and no
    /// locale file can translate them, so reports mention how many there are.
    ///
    /// Rules: B3.
    #[must_use]
    pub fn setting_text_count(&self) -> usize {
        let texts = self.user_config.iter().flat_map(|it| [&it.title, &it.description]);
        texts.flatten().filter(|text| !text.trim().is_empty()).count()
    }

    /// Returns the icons to choose from: those of `icons`, or if there are none, the single `icon`.
    ///
    /// Rules: B6.
    #[must_use]
    pub fn icons(&self) -> Vec<ManifestIcon> {
        if self.icons.is_empty() {
            return self.icon.iter().map(|src| ManifestIcon::new(src)).collect();
        }
        self.icons.clone()
    }
}

fn string(value: SpannedValue<'_>) -> Option<Box<str>> {
    Some(value.text()?.decode()?.into())
}

fn strings(value: SpannedValue<'_>) -> Vec<Box<str>> {
    elements(Some(value)).filter_map(string).collect()
}

fn elements(value: Option<SpannedValue<'_>>) -> impl Iterator<Item = SpannedValue<'_>> {
    value.filter(|it| it.kind() == JsonKind::Array).into_iter().flat_map(SpannedValue::elements)
}

fn members(value: Option<SpannedValue<'_>>) -> impl Iterator<Item = (Box<str>, SpannedValue<'_>)> {
    let value = value.filter(|it| it.kind() == JsonKind::Object);
    let named = |(name, value): (JsonString<'_>, _)| Some((name.decode()?.into(), value));
    value.into_iter().flat_map(move |it| it.members().filter_map(named).collect::<Vec<_>>())
}

fn number(value: SpannedValue<'_>) -> Option<f64> {
    if value.kind() == JsonKind::Number { value.raw().parse().ok() } else { None }
}

fn listed(value: Option<SpannedValue<'_>>) -> Vec<ManifestEntry> {
    let read = |entry: SpannedValue<'_>| {
        let name = entry.member("name").and_then(string)?;
        Some(ManifestEntry { name, description: entry.member("description").and_then(string) })
    };
    elements(value).filter_map(read).collect()
}

/// Maximum number of sizes of one entry of `icons`. Each becomes an icon with a copy of the path, so that a
/// short manifest could otherwise take much memory.
const MAX_ICON_SIZES: usize = 20;

/// Parses one entry of `icons`. Returns one icon for each size, at least one, or none if there is no `src`.
///
/// Accepts `sizes`, as web manifests have it, if there is no `size`: a text of sizes with blanks between them,
/// or a list.
fn icons(entry: SpannedValue<'_>) -> Vec<ManifestIcon> {
    let Some(src) = entry.member("src").and_then(string) else { return Vec::new() };
    let theme = entry.member("theme").and_then(string).filter(|theme| !theme.is_empty());
    let sizes = match (entry.member("size"), entry.member("sizes")) {
        (Some(size), _) => string(size).into_iter().collect(),
        (None, Some(sizes)) if sizes.kind() == JsonKind::Array => strings(sizes),
        (None, Some(sizes)) => string(sizes).into_iter().collect(),
        (None, None) => Vec::new(),
    };
    let mut sizes: Vec<Option<PixelSize>> = sizes
        .iter()
        .flat_map(|sizes| sizes.split_ascii_whitespace().map(PixelSize::parse))
        .take(MAX_ICON_SIZES)
        .collect();
    if sizes.is_empty() {
        sizes.push(None);
    }
    sizes.into_iter().map(|size| ManifestIcon { src: src.clone(), size, theme: theme.clone() }).collect()
}

/// Parses `localization`. Returns `None` if a value is of the wrong type, has no placeholder or is no language
/// tag: a guess would localize into the wrong language.
fn localization(value: SpannedValue<'_>) -> Option<Localization> {
    if value.kind() != JsonKind::Object {
        return None;
    }
    let said = |name: &str, default: &str| match value.member(name) {
        Some(value) => string(value),
        None => Some(default.into()),
    };
    let resources = said("resources", Localization::DEFAULT_RESOURCES)?;
    let resources = LocalePath::parse_template(&resources)?;
    let default_locale = Tag::parse(&said("default_locale", Localization::DEFAULT_LOCALE)?).ok()?;
    Some(Localization { resources, default_locale })
}

fn server(value: SpannedValue<'_>) -> ManifestServer {
    let said = |name: &str| value.member(name).and_then(string);
    let config = value.member("mcp_config").filter(|it| it.kind() == JsonKind::Object);
    let config = config.map(|config| McpConfig {
        base: command(config),
        platforms: members(config.member("platform_overrides")).map(|(on, it)| (on, command(it))).collect(),
    });
    ManifestServer { kind: said("type"), entry_point: said("entry_point"), mcp_config: config }
}

fn command(value: SpannedValue<'_>) -> PartialCommandLine {
    let env =
        |it: SpannedValue<'_>| members(Some(it)).filter_map(|(name, it)| Some((name, string(it)?))).collect();
    PartialCommandLine {
        command: value.member("command").and_then(string),
        args: value.member("args").filter(|it| it.kind() == JsonKind::Array).map(strings),
        env: value.member("env").filter(|it| it.kind() == JsonKind::Object).map(env),
    }
}

fn setting(key: Box<str>, value: SpannedValue<'_>) -> UserConfigSetting {
    let said = |name: &str| value.member(name).and_then(string);
    let is = |name: &str| value.member(name).is_some_and(|it| it.raw() == "true");
    let default = value.member("default");
    let plain = |it: SpannedValue<'_>| match it.kind() {
        JsonKind::Array => Some(strings(it)),
        JsonKind::String => string(it).map(|text| vec![text]),
        JsonKind::Number | JsonKind::Boolean => Some(vec![it.raw().into()]),
        _ => None,
    };
    UserConfigSetting {
        key,
        kind: said("type"),
        title: said("title"),
        description: said("description"),
        required: is("required"),
        multiple: is("multiple"),
        sensitive: is("sensitive"),
        default: default.and_then(plain),
        default_is_list: default.is_some_and(|it| it.kind() == JsonKind::Array),
        min: value.member("min").and_then(number),
        max: value.member("max").and_then(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_sizes_of_one_icon_take_no_more_room_than_some() {
        let (path, sizes) = ("x".repeat(1 << 20), "16x16 ".repeat(1 << 18));
        let text = format!(
            r#"{{"icons": [{{"src": "{path}", "sizes": "{sizes}"}}, {{"src": "b", "sizes": ["8x8", "any"]}}]}}"#
        );
        let icons = Manifest::read(text.as_bytes()).unwrap().icons;
        assert_eq!(icons.len(), MAX_ICON_SIZES + 2);
        assert_eq!(
            (icons[MAX_ICON_SIZES].size, icons[MAX_ICON_SIZES + 1].size),
            (PixelSize::parse("8x8"), None)
        );
        let many = vec![r#"{"src": "a"}"#; 5000].join(",");
        let manifest = Manifest::read(format!(r#"{{"icons": [{many}]}}"#).as_bytes()).unwrap();
        assert_eq!(manifest.icons.len(), Manifest::MAX_ICONS);
    }

    #[test]
    fn what_is_no_manifest_is_told_in_words_for_its_author() {
        let told = |file: &[u8]| Manifest::read(file).unwrap_err().to_string();
        assert_eq!(told(b""), "empty; write at least {}");
        assert_eq!(told(b"{\"a\":"), "ends inside a value, at byte 5; close what is open");
        assert_eq!(told(b"[]"), "no JSON object; a manifest begins with { and ends with }");
    }
}
