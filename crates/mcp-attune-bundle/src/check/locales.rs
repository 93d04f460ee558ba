//! Locale files: whether they are where `localization` says, can be used, and translate the manifest.

use std::collections::HashSet;

use mcp_attune_wire::json::{JsonKind, SpannedValue};
use mcp_attune_wire::message::JsonParseError;

use super::collect::{BundleProblemCollector, BundleProblemLocation, manifest_location, path};
use super::server::{MAX_COMPARED_NAMES, text};
use super::{BundleCheckInput, BundleLocaleCoverage};
use crate::problem::{BundleProblemKind, LocaleProblem, ManifestTextFormat};
use crate::{
    BundleFileName, BundleLocaleFile, BundleLocales, LocalePath, Localization, applicable_texts, coverage,
};
use mcp_attune::catalog::{
    self, CompiledLocale, LocaleFileEntry, LocaleFileProblem, LocaleKeyPath, ParsedLocaleFile,
};
use mcp_attune::language::Tag;
use mcp_attune::suggestion::nearest;

/// Maximum size of all locale files together in bytes: 64 MiB.
const MAX_TOTAL_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of locale files that are checked.
const MAX_LOCALE_FILES: usize = 500;

/// A locale file that could be parsed.
struct CheckedLocaleFile<'a> {
    resource: &'a BundleLocaleFile,
    /// Its texts.
    sheet: ParsedLocaleFile,
    /// Its contents, for the lines of problems that are found later.
    bytes: Vec<u8>,
}

/// Checks `localization` and every locale file, and returns the coverage of those that could be parsed.
///
/// All files are parsed first, because the coverage of a language depends on its relatives.
pub(super) fn check_locales(
    look: &BundleCheckInput<'_>,
    found: &mut BundleProblemCollector,
) -> Vec<BundleLocaleCoverage> {
    let value = look.root.member("localization").filter(|it| it.kind() == JsonKind::Object);
    let Some(value) = value else { return Vec::new() };
    check_localization(value, found);
    let Some(localization) = &look.manifest.localization else { return Vec::new() };
    let locales = BundleLocales::find_among(look.manifest, look.names().iter().map(String::as_str));
    check_locale_names(&locales, localization, found);
    if locales.files.is_empty() && localization.resources.normalize().is_ok() {
        let german = Tag::parse("de").ok().and_then(|tag| localization.locale_file_name(&tag).ok());
        let example = german.map(|name| name.to_string()).unwrap_or_default();
        found.warn(
            manifest_location(&path(&["localization"]), value),
            BundleProblemKind::Locale(LocaleProblem::NoFiles { example }),
        );
    }
    let read = read(look, &locales, found);
    let listed = ManifestNames::from_input(look);
    let mut covered = Vec::new();
    for it in &read {
        covered.push(check_locale_file(look, &locales, &listed, it, &read, found));
        found.assign_lines(it.resource.name.as_str(), &it.bytes);
    }
    covered
}

/// Checks what `localization` says, as far as the official schema does not.
fn check_localization(value: SpannedValue<'_>, found: &mut BundleProblemCollector) {
    if let Some((value, said)) = value.member("resources").and_then(|it| Some((it, text(it)?))) {
        let path = path(&["localization", "resources"]);
        if let Some(resources) = LocalePath::parse_template(&said) {
            // Where one of several is in another case, the schema sees the others.
            if LocalePath::from_pieces(said.split(LocalePath::PLACEHOLDER)) != resources {
                found.warn(
                    manifest_location(&path, value),
                    BundleProblemKind::Locale(LocaleProblem::OtherCase),
                );
            }
            // Any locale does.
            if let Err(outside) = BundleFileName::parse(&resources.with_locale("en")) {
                found.error(
                    manifest_location(&path, value),
                    BundleProblemKind::Locale(LocaleProblem::Outside(outside)),
                );
            }
        }
    }
    if let Some((value, said)) = value.member("default_locale").and_then(|it| Some((it, text(it)?)))
        && ManifestTextFormat::Locale.fits(&said)
        && Tag::parse(&said).is_err()
    {
        found.error(
            manifest_location(&path(&["localization", "default_locale"]), value),
            BundleProblemKind::Locale(LocaleProblem::NoTag),
        );
    }
}

/// Returns a position in a locale file.
fn in_file<'a>(file: &'a str, path: &'a LocaleKeyPath, offset: usize) -> BundleProblemLocation<'a> {
    BundleProblemLocation { file, path, offset }
}

/// Reports files that lie where locale files do, but whose names give no language, or one that another file has
/// already.
///
/// It is an error if the name is a language tag with `_` for `-`, which certainly is a mistake. Otherwise the
/// file may be something else, and it is a warning.
fn check_locale_names(
    locales: &BundleLocales,
    localization: &Localization,
    found: &mut BundleProblemCollector,
) {
    let top = LocaleKeyPath::default();
    let Ok(resources) = localization.resources.normalize() else { return };
    for name in &locales.strange {
        let locale = resources.locale_in(name).unwrap_or_default();
        let dashed = locale.replace('_', "-");
        let meant = Tag::parse(&dashed).ok().filter(|_| dashed != locale);
        let what = LocaleProblem::StrangeName {
            meant: meant.as_ref().map(|tag| resources.with_locale(tag.as_str())),
        };
        // It may be something else that happens to be there.
        let level =
            if meant.is_some() { BundleProblemCollector::error } else { BundleProblemCollector::warn };
        level(found, in_file(name, &top, 0), BundleProblemKind::Locale(what));
    }
}

/// Reads and parses the locale files within the bounds, and reports what cannot be used.
///
/// An unusable entry is an error; an unknown key and an empty text are warnings, since nothing is lost by them.
fn read<'a>(
    look: &BundleCheckInput<'_>,
    locales: &'a BundleLocales,
    found: &mut BundleProblemCollector,
) -> Vec<CheckedLocaleFile<'a>> {
    let top = LocaleKeyPath::default();
    let (mut read, mut left) = (Vec::new(), MAX_TOTAL_BYTES);
    for (at, resource) in locales.files.iter().enumerate() {
        let name = resource.name.as_str();
        if at == MAX_LOCALE_FILES || left == 0 {
            found.warn(in_file(name, &top, 0), BundleProblemKind::Locale(LocaleProblem::TooMany));
            break;
        }
        let bytes = match look.files.read(&resource.name, ParsedLocaleFile::MAX_BYTES.min(left)) {
            Ok(bytes) => bytes,
            Err(why) => {
                found.error(
                    in_file(name, &top, 0),
                    BundleProblemKind::Locale(LocaleProblem::Unavailable(why)),
                );
                continue;
            }
        };
        left = left.saturating_sub(bytes.len());
        match ParsedLocaleFile::read(&bytes) {
            Ok((sheet, mut findings)) => {
                findings.extend(CompiledLocale::new(resource.tag.clone(), &sheet).1);
                for finding in findings {
                    let harmless = matches!(
                        finding.what,
                        LocaleFileProblem::UnknownKey
                            | LocaleFileProblem::Empty
                            | LocaleFileProblem::MoreFindings
                    );
                    let level =
                        if harmless { BundleProblemCollector::warn } else { BundleProblemCollector::error };
                    let what = BundleProblemKind::Locale(LocaleProblem::Entry(finding.what));
                    level(found, in_file(name, &finding.path, finding.at), what);
                }
                read.push(CheckedLocaleFile { resource, sheet, bytes });
            }
            Err(why) => {
                let offset = if let catalog::LocaleFileError::Unreadable(JsonParseError { at, .. }) = why {
                    at
                } else {
                    0
                };
                found.error(
                    in_file(name, &top, offset),
                    BundleProblemKind::Locale(LocaleProblem::Refused(why)),
                );
                found.assign_lines(name, &bytes);
            }
        }
    }
    read
}

/// The tools and prompts that the manifest lists.
struct ManifestNames<'a> {
    tools: HashSet<&'a str>,
    prompts: HashSet<&'a str>,
    /// `tools_generated`: the server may have tools that are not listed.
    more_tools: bool,
    /// `prompts_generated`: the server may have prompts that are not listed.
    more_prompts: bool,
}

impl<'a> ManifestNames<'a> {
    fn from_input(look: &BundleCheckInput<'a>) -> Self {
        let is = |name: &str| look.root.member(name).is_some_and(|it| it.raw() == "true");
        Self {
            tools: look.manifest.tools.iter().map(|it| &*it.name).collect(),
            prompts: look.manifest.prompts.iter().map(|it| &*it.name).collect(),
            more_tools: is("tools_generated"),
            more_prompts: is("prompts_generated"),
        }
    }

    /// Returns the listed names of a section of a locale file, and whether the server may have others; `None`
    /// if the section does not contain tools or prompts.
    fn section(&self, name: &str) -> Option<(&HashSet<&'a str>, bool)> {
        match name {
            "tools" => Some((&self.tools, self.more_tools)),
            "prompts" => Some((&self.prompts, self.more_prompts)),
            _ => None,
        }
    }
}

/// Checks one parsed file against the manifest, and returns its coverage, with what related languages provide.
///
/// Languages near the manifest's own are not asked to be complete: their users understand the manifest's texts.
fn check_locale_file(
    look: &BundleCheckInput<'_>,
    locales: &BundleLocales,
    listed: &ManifestNames<'_>,
    it: &CheckedLocaleFile<'_>,
    all: &[CheckedLocaleFile<'_>],
    found: &mut BundleProblemCollector,
) -> BundleLocaleCoverage {
    let name = it.resource.name.as_str();
    // Keywords are one text, and each of them has a line.
    let begins = |line: &LocaleFileEntry, path: &LocaleKeyPath| {
        path.names().zip(line.path.names()).all(|(one, other)| one == other)
    };
    let offset =
        |path: &LocaleKeyPath| it.sheet.entries().find(|line| begins(line, path)).map_or(0, |line| line.at);
    check_unlisted_names(name, &it.sheet, listed, found);
    let mut covered = coverage(look.manifest, &it.sheet);
    for path in &covered.surplus {
        // Of those that are not listed that was said.
        let listed = path
            .names()
            .next()
            .and_then(|section| listed.section(section))
            .is_none_or(|(names, _)| path.names().nth(1).is_some_and(|name| names.contains(name)));
        if listed && !found.is_full() {
            found.warn(in_file(name, path, offset(path)), BundleProblemKind::Locale(LocaleProblem::Surplus));
        }
    }
    for path in &covered.stale {
        if !found.is_full() {
            found.warn(in_file(name, path, offset(path)), BundleProblemKind::Locale(LocaleProblem::Stale));
        }
    }
    let tag = &it.resource.tag;
    for relative in
        locales.fallback_files(tag).into_iter().filter(|it| locales.default_locale() != Some(&it.tag))
    {
        if let Some(sheet) = all.iter().find(|it| it.resource.name == relative.name).map(|it| &it.sheet) {
            covered.inherit(&applicable_texts(sheet));
        }
    }
    // Where the manifest's own texts are of this language, nothing is missing.
    if covered.percent() < look.thresholds.coverage && !locales.is_near_default(tag) {
        let what = LocaleProblem::Untranslated {
            fields: covered.missing.clone(),
            total: covered.total,
            percent: covered.percent(),
            wanted: look.thresholds.coverage,
        };
        found.warn(in_file(name, &LocaleKeyPath::default(), 0), BundleProblemKind::Locale(what));
    }
    BundleLocaleCoverage { tag: tag.clone(), file: name.into(), coverage: covered }
}

/// Reports tools and prompts that the manifest does not list, each once, unless it says that there may be
/// others.
fn check_unlisted_names(
    file: &str,
    sheet: &ParsedLocaleFile,
    listed: &ManifestNames<'_>,
    found: &mut BundleProblemCollector,
) {
    let mut told = HashSet::new();
    for line in sheet.entries() {
        let mut names = line.path.names();
        let (Some(section), Some(name)) = (names.next(), names.next()) else { continue };
        let Some((known, more)) = listed.section(section) else { continue };
        if !more && !known.contains(name) && told.insert((section, name)) && !found.is_full() {
            let near = nearest(name, known.iter().copied().take(MAX_COMPARED_NAMES));
            let path = path(&[section, name]);
            found.warn(
                in_file(file, &path, line.at),
                BundleProblemKind::Locale(LocaleProblem::NotListed { near }),
            );
        }
    }
}
