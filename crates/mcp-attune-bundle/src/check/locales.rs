//! Locale files: where they are, what is wrong with them, and how far they translate the manifest.

use std::collections::HashSet;

use mcp_attune_wire::json::{Type, Value};
use mcp_attune_wire::message::Unreadable;

use super::collect::{At, Collect, here, path};
use super::server::{COMPARED, text};
use super::{Covered, Look};
use crate::problem::{Format, LocaleProblem, What};
use crate::{Inside, LocalePath, Locales, Localization, Resource, coverage, localizable};
use mcp_attune::catalog::{self, Line, Locale, Path, Sheet, Wrong};
use mcp_attune::language::Tag;
use mcp_attune::near::nearest;

/// The most bytes of all locale files together.
const MOST_BYTES: usize = 64 * 1024 * 1024;
/// The most locale files.
const MOST_FILES: usize = 500;

/// A locale file that could be read.
struct Read<'a> {
    resource: &'a Resource,
    sheet: Sheet,
    bytes: Vec<u8>,
}

pub(super) fn look(look: &Look<'_>, found: &mut Collect) -> Vec<Covered> {
    let value = look.root.member("localization").filter(|it| it.kind() == Type::Object);
    let Some(value) = value else { return Vec::new() };
    where_they_are(value, found);
    let Some(localization) = &look.manifest.localization else { return Vec::new() };
    let locales = Locales::among(look.manifest, look.names().iter().map(String::as_str));
    strange(&locales, localization, found);
    if locales.files.is_empty() && localization.resources.inside().is_ok() {
        let german = Tag::parse("de").ok().and_then(|tag| localization.name(&tag).ok());
        let example = german.map(|name| name.to_string()).unwrap_or_default();
        found.warn(here(&path(&["localization"]), value), What::Locale(LocaleProblem::NoFiles { example }));
    }
    let read = read(look, &locales, found);
    let listed = Listed::of(look);
    let mut covered = Vec::new();
    for it in &read {
        covered.push(one(look, &locales, &listed, it, &read, found));
        found.place(it.resource.name.as_str(), &it.bytes);
    }
    covered
}

/// What `localization` says, as far as the official schema does not judge it.
fn where_they_are(value: Value<'_>, found: &mut Collect) {
    if let Some((value, said)) = value.member("resources").and_then(|it| Some((it, text(it)?))) {
        let path = path(&["localization", "resources"]);
        if let Some(resources) = LocalePath::cut(&said) {
            // Where one of several is in another case, the schema sees the others.
            if LocalePath::of(said.split(LocalePath::PLACE)) != resources {
                found.warn(here(&path, value), What::Locale(LocaleProblem::OtherCase));
            }
            // Any locale does.
            if let Err(outside) = Inside::parse(&resources.with("en")) {
                found.error(here(&path, value), What::Locale(LocaleProblem::Outside(outside)));
            }
        }
    }
    if let Some((value, said)) = value.member("default_locale").and_then(|it| Some((it, text(it)?)))
        && Format::Locale.fits(&said)
        && Tag::parse(&said).is_err()
    {
        found.error(
            here(&path(&["localization", "default_locale"]), value),
            What::Locale(LocaleProblem::NoTag),
        );
    }
}

fn in_file<'a>(file: &'a str, path: &'a Path, offset: usize) -> At<'a> {
    At { file, path, offset }
}

/// Files where locale files are whose names have no language in them.
fn strange(locales: &Locales, localization: &Localization, found: &mut Collect) {
    let top = Path::default();
    let Ok(resources) = localization.resources.inside() else { return };
    for name in &locales.strange {
        let locale = resources.locale_in(name).unwrap_or_default();
        let dashed = locale.replace('_', "-");
        let meant = Tag::parse(&dashed).ok().filter(|_| dashed != locale);
        let what =
            LocaleProblem::StrangeName { meant: meant.as_ref().map(|tag| resources.with(tag.as_str())) };
        // It may be something else that happens to be there.
        let level = if meant.is_some() { Collect::error } else { Collect::warn };
        level(found, in_file(name, &top, 0), What::Locale(what));
    }
}

fn read<'a>(look: &Look<'_>, locales: &'a Locales, found: &mut Collect) -> Vec<Read<'a>> {
    let top = Path::default();
    let (mut read, mut left) = (Vec::new(), MOST_BYTES);
    for (at, resource) in locales.files.iter().enumerate() {
        let name = resource.name.as_str();
        if at == MOST_FILES || left == 0 {
            found.warn(in_file(name, &top, 0), What::Locale(LocaleProblem::TooMany));
            break;
        }
        let bytes = match look.files.read(&resource.name, Sheet::MAX_BYTES.min(left)) {
            Ok(bytes) => bytes,
            Err(why) => {
                found.error(in_file(name, &top, 0), What::Locale(LocaleProblem::Unavailable(why)));
                continue;
            }
        };
        left = left.saturating_sub(bytes.len());
        match Sheet::read(&bytes) {
            Ok((sheet, mut findings)) => {
                findings.extend(Locale::new(resource.tag.clone(), &sheet).1);
                for finding in findings {
                    let harmless =
                        matches!(finding.what, Wrong::UnknownKey | Wrong::Empty | Wrong::MoreFindings);
                    let level = if harmless { Collect::warn } else { Collect::error };
                    let what = What::Locale(LocaleProblem::Entry(finding.what));
                    level(found, in_file(name, &finding.path, finding.at), what);
                }
                read.push(Read { resource, sheet, bytes });
            }
            Err(why) => {
                let offset =
                    if let catalog::Refused::Unreadable(Unreadable { at, .. }) = why { at } else { 0 };
                found.error(in_file(name, &top, offset), What::Locale(LocaleProblem::Refused(why)));
                found.place(name, &bytes);
            }
        }
    }
    read
}

/// What the manifest lists, and whether there may be more.
struct Listed<'a> {
    tools: HashSet<&'a str>,
    prompts: HashSet<&'a str>,
    more_tools: bool,
    more_prompts: bool,
}

impl<'a> Listed<'a> {
    fn of(look: &Look<'a>) -> Self {
        let is = |name: &str| look.root.member(name).is_some_and(|it| it.raw() == "true");
        Self {
            tools: look.manifest.tools.iter().map(|it| &*it.name).collect(),
            prompts: look.manifest.prompts.iter().map(|it| &*it.name).collect(),
            more_tools: is("tools_generated"),
            more_prompts: is("prompts_generated"),
        }
    }

    /// What is listed in a section that lists things, and whether there may be more.
    fn section(&self, name: &str) -> Option<(&HashSet<&'a str>, bool)> {
        match name {
            "tools" => Some((&self.tools, self.more_tools)),
            "prompts" => Some((&self.prompts, self.more_prompts)),
            _ => None,
        }
    }
}

fn one(
    look: &Look<'_>,
    locales: &Locales,
    listed: &Listed<'_>,
    it: &Read<'_>,
    all: &[Read<'_>],
    found: &mut Collect,
) -> Covered {
    let name = it.resource.name.as_str();
    // Keywords are one text, and each of them has a line.
    let begins =
        |line: &Line, path: &Path| path.names().zip(line.path.names()).all(|(one, other)| one == other);
    let offset = |path: &Path| it.sheet.lines().find(|line| begins(line, path)).map_or(0, |line| line.at);
    not_listed(name, &it.sheet, listed, found);
    let mut covered = coverage(look.manifest, &it.sheet);
    for path in &covered.surplus {
        // Of those that are not listed that was said.
        let listed = path
            .names()
            .next()
            .and_then(|section| listed.section(section))
            .is_none_or(|(names, _)| path.names().nth(1).is_some_and(|name| names.contains(name)));
        if listed && !found.full() {
            found.warn(in_file(name, path, offset(path)), What::Locale(LocaleProblem::Surplus));
        }
    }
    for path in &covered.stale {
        if !found.full() {
            found.warn(in_file(name, path, offset(path)), What::Locale(LocaleProblem::Stale));
        }
    }
    let tag = &it.resource.tag;
    for relative in locales.row(tag).into_iter().filter(|it| locales.default_locale() != Some(&it.tag)) {
        if let Some(sheet) = all.iter().find(|it| it.resource.name == relative.name).map(|it| &it.sheet) {
            covered.inherit(&localizable(sheet));
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
        found.warn(in_file(name, &Path::default(), 0), What::Locale(what));
    }
    Covered { tag: tag.clone(), file: name.into(), coverage: covered }
}

/// Tools and prompts that are only in the locale file.
fn not_listed(file: &str, sheet: &Sheet, listed: &Listed<'_>, found: &mut Collect) {
    let mut told = HashSet::new();
    for line in sheet.lines() {
        let mut names = line.path.names();
        let (Some(section), Some(name)) = (names.next(), names.next()) else { continue };
        let Some((known, more)) = listed.section(section) else { continue };
        if !more && !known.contains(name) && told.insert((section, name)) && !found.full() {
            let near = nearest(name, known.iter().copied().take(COMPARED));
            let path = path(&[section, name]);
            found.warn(in_file(file, &path, line.at), What::Locale(LocaleProblem::NotListed { near }));
        }
    }
}
