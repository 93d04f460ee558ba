//! What a manifest says, as far as it says it in the right way.

use core::fmt;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};
use mcp_attune_wire::message::JsonParseError;

use super::icon::{ManifestIcon, PixelSize};
use super::locale_path::LocalePath;
use super::version::ManifestVersion;
use mcp_attune::catalog;
use mcp_attune::language::Tag;

/// A `manifest.json`. What is missing, or of another kind than it should be, is none here; its check is another matter. All
/// that is in the file stays in its text.
///
/// Rules: B1.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Manifest {
    /// The file as it is.
    pub text: Box<str>,
    /// Which kind of manifest it says it is.
    pub version: Option<ManifestVersion>,
    /// The name for machines.
    pub name: Option<Box<str>>,
    /// The version of the bundle.
    pub release: Option<Box<str>>,
    /// The name for people.
    pub display_name: Option<Box<str>>,
    /// What it is.
    pub description: Option<Box<str>>,
    /// What it is, at length.
    pub long_description: Option<Box<str>>,
    /// What it is found by.
    pub keywords: Vec<Box<str>>,
    /// The name of who made it.
    pub author: Option<Box<str>>,
    /// The tools that it lists.
    pub tools: Vec<ManifestEntry>,
    /// The prompts that it lists.
    pub prompts: Vec<ManifestEntry>,
    /// The one icon of old.
    pub icon: Option<Box<str>>,
    /// The icons.
    pub icons: Vec<ManifestIcon>,
    /// Pictures of it in use.
    pub screenshots: Vec<Box<str>>,
    /// Where translations are.
    pub localization: Option<Localization>,
    /// The program.
    pub server: Option<ManifestServer>,
    /// What its user can set, in the order of the file.
    pub user_config: Vec<UserConfigSetting>,
}

/// A tool or a prompt that a manifest lists.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ManifestEntry {
    /// Its name on the wire.
    pub name: Box<str>,
    /// What it does.
    pub description: Option<Box<str>>,
}

/// Where translations are.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Localization {
    /// The path of the locale files.
    pub resources: LocalePath,
    /// The language of the manifest's own texts.
    pub default_locale: Tag,
}

impl Localization {
    /// Where locale files are when nothing else is said.
    pub const DEFAULT_RESOURCES: &str = "mcpb-resources/${locale}.json";
    /// The language of the manifest's own texts when nothing else is said.
    pub const DEFAULT_LOCALE: &str = "en-US";
}

/// The program of a bundle.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct ManifestServer {
    /// `node`, `python`, `binary` or `uv`.
    pub kind: Option<Box<str>>,
    /// The file that is run.
    pub entry_point: Option<Box<str>>,
    /// How it is run.
    pub mcp_config: Option<McpConfig>,
}

/// How the program of a bundle is run.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct McpConfig {
    /// What applies everywhere.
    pub base: PartialCommandLine,
    /// What applies instead on one platform, by its name.
    pub platforms: Vec<(Box<str>, PartialCommandLine)>,
}

/// Parts of a command line; what is none here applies from elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PartialCommandLine {
    /// The program.
    pub command: Option<Box<str>>,
    /// Its arguments.
    pub args: Option<Vec<Box<str>>>,
    /// Variables of its environment.
    pub env: Option<Vec<(Box<str>, Box<str>)>>,
}

/// Something that a user can set.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct UserConfigSetting {
    /// Its name in `${user_config.FILE_NAME}`.
    pub key: Box<str>,
    /// `string`, `number`, `boolean`, `directory` or `file`.
    pub kind: Option<Box<str>>,
    /// Its name for people.
    pub title: Option<Box<str>>,
    /// What it is.
    pub description: Option<Box<str>>,
    /// Whether there is no bundle without it.
    pub required: bool,
    /// Whether it may be several.
    pub multiple: bool,
    /// Whether it is a secret.
    pub sensitive: bool,
    /// What it is when nothing is set: text, a number, a truth value or several texts.
    pub default: Option<Vec<Box<str>>>,
    /// Whether the default is a list.
    pub default_is_list: bool,
    /// The least number.
    pub min: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
}

/// Why a manifest cannot be read at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ManifestError {
    /// More bytes than a manifest may have.
    TooLarge,
    /// No JSON that can be read in one way.
    Unreadable(JsonParseError),
    /// JSON, but no object.
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
    /// The name of the file.
    pub const FILE_NAME: &str = "manifest.json";
    /// The most bytes that it may have.
    pub const MAX_BYTES: usize = 4 * 1024 * 1024;
    /// The most icons that are chosen from.
    pub const MAX_ICONS: usize = 1000;

    /// Reads a manifest.
    ///
    /// # Errors
    ///
    /// [`ManifestError`] where it is no JSON object.
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

    /// How many texts its settings have. Hosts show them when a bundle is installed, and no locale file has a place for them.
    ///
    /// Rules: B3.
    #[must_use]
    pub fn setting_text_count(&self) -> usize {
        let texts = self.user_config.iter().flat_map(|it| [&it.title, &it.description]);
        texts.flatten().filter(|text| !text.trim().is_empty()).count()
    }

    /// The icons to choose from: `icons`, else the one that `icon` names.
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

/// How many sizes one icon may have. Each is an icon to choose from, with its path.
const MAX_ICON_SIZES: usize = 20;

/// One entry of `icons`; several where it has several sizes, as `sizes` may.
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

/// None where it says nothing that can be used.
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
