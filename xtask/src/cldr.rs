//! Writes the CLDR tables of `mcp_attune::language` from the published data of the Unicode Consortium.
//!
//! 1. The package comes from npm by name and version, through npm's own configuration.
//! 2. Only what the rules C5 and L4 to L6 ask for is kept: weeks, aliases, parent locales, language matching.
//! 3. The source is formatted by rustfmt, so that a check is a comparison of two texts.
//!
//! Rules: L4, L5, L6.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

const PACKAGE: &str = "cldr-core";
const VERSION: &str = "48.2.0";
const TABLES: &str = "crates/mcp-attune/src/language/cldr.rs";
const LICENSE: &str = "crates/mcp-attune/LICENSE-UNICODE";

/// Where Attune goes beyond CLDR's aliases: Bokmål is what `no` has always meant in practice, and CLDR itself
/// puts a distance of 1 between the two. Rule L4 wants one language.
const OURS: &[(&str, &str)] = &[("no", "nb")];

/// Writes the tables and the licence that they come under, or with `check` compares them with what is checked in.
pub(crate) fn run(check: bool) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let package = unpack(root)?;
    let tables = format(root, &Data::read(&package)?.source()?)?;
    let license = fs::read_to_string(package.join("LICENSE"))?;
    for (path, text) in [(TABLES, tables), (LICENSE, license)] {
        let file = root.join(path);
        if !check {
            fs::write(&file, text).with_context(|| format!("could not write {path}"))?;
        } else if fs::read_to_string(&file).unwrap_or_default() != text {
            bail!("{path} is not what {PACKAGE} {VERSION} gives; hint: run `cargo xtask cldr`");
        }
    }
    Ok(())
}

/// Brings the package into `target/` once, and unpacks it there.
fn unpack(root: &Path) -> Result<PathBuf> {
    let folder = root.join("target/cldr");
    fs::create_dir_all(&folder)?;
    let archive = format!("{PACKAGE}-{VERSION}.tgz");
    if !folder.join(&archive).exists() {
        let mut npm = Command::new("npm");
        npm.args(["pack", "--silent", &format!("{PACKAGE}@{VERSION}")]).current_dir(&folder);
        succeed(npm.stdout(Stdio::null()))?;
    }
    succeed(Command::new("tar").args(["-xzf", &archive]).current_dir(&folder))?;
    Ok(folder.join("package"))
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not run {command:?}"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// Formats as the workspace does.
fn format(root: &Path, source: &str) -> Result<String> {
    let file = root.join("target/cldr/cldr.rs");
    fs::write(&file, source)?;
    let config = root.join("rustfmt.toml");
    succeed(Command::new("rustfmt").args(["--edition", "2024", "--config-path"]).arg(config).arg(&file))?;
    Ok(fs::read_to_string(&file)?)
}

/// A language, its script and its region, where the last two may be missing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Node {
    language: String,
    script: String,
    region: String,
}

impl Node {
    fn parse(tag: &str) -> Self {
        let mut node = Self::default();
        for (position, subtag) in tag.to_ascii_lowercase().split('-').enumerate() {
            match subtag.len() {
                _ if position == 0 => node.language = subtag.to_owned(),
                4 => node.script = subtag.to_owned(),
                _ => node.region = subtag.to_owned(),
            }
        }
        node
    }

    fn source(&self) -> String {
        format!("n({:?}, {:?}, {:?})", self.language, self.script, self.region)
    }
}

/// The files of the package that the tables come from.
struct Data {
    aliases: Value,
    parents: Value,
    matching: Value,
    containment: Value,
    likely: Value,
    default_content: Value,
    weeks: Value,
}

impl Data {
    fn read(package: &Path) -> Result<Self> {
        let read = |name: &str, pointer: &str| -> Result<Value> {
            let text = fs::read(package.join(name)).with_context(|| format!("{PACKAGE} has no {name}"))?;
            let mut json: Value = serde_json::from_slice(&text)?;
            let found = json.pointer_mut(pointer).with_context(|| format!("{name} has no {pointer}"))?;
            Ok(found.take())
        };
        Ok(Self {
            aliases: read("supplemental/aliases.json", "/supplemental/metadata/alias")?,
            parents: read("supplemental/parentLocales.json", "/supplemental/parentLocales/parentLocale")?,
            matching: read(
                "supplemental/languageMatching.json",
                "/supplemental/languageMatching/written-new",
            )?,
            containment: read(
                "supplemental/territoryContainment.json",
                "/supplemental/territoryContainment",
            )?,
            likely: read("supplemental/likelySubtags.json", "/supplemental/likelySubtags")?,
            default_content: read("defaultContent.json", "/defaultContent")?,
            weeks: read("supplemental/weekData.json", "/supplemental/weekData/firstDay")?,
        })
    }

    fn source(&self) -> Result<String> {
        let mut out = format!(
            "// @generated by `cargo xtask cldr` from {PACKAGE} {VERSION}; change xtask/src/cldr.rs and run it again.\n\
             // Copyright © Unicode, Inc.; the licence is in LICENSE-UNICODE.\n\
             // SPDX-License-Identifier: Unicode-3.0\n\n\
             //! CLDR's tables, sorted for binary search: aliases, parent locales, language matching, weeks.\n\n\
             use jiff::civil::Weekday;\n\n\
             use super::subtag::{{LocaleNode, Regions, RegionRule, Subtag, n, s}};\n"
        );
        let single = self.aliases_of_languages(&mut out)?;
        self.aliases_of_parts(&mut out)?;
        self.parents(&mut out, &single)?;
        self.default_regions(&mut out)?;
        self.matching(&mut out, &single)?;
        self.weeks(&mut out)?;
        Ok(out)
    }

    fn aliases(&self, kind: &str) -> Result<BTreeMap<String, String>> {
        let table = self.aliases[kind].as_object().with_context(|| format!("no {kind}"))?;
        let pairs = table.iter().map(|(old, entry)| {
            let new = entry["_replacement"].as_str().with_context(|| format!("{kind} {old}"))?;
            Ok((old.to_ascii_lowercase(), new.to_ascii_lowercase()))
        });
        pairs.collect()
    }

    /// One subtag that stands for a language, and several that do; gives back the former.
    fn aliases_of_languages(&self, out: &mut String) -> Result<BTreeMap<String, Node>> {
        let mut all = self.aliases("languageAlias")?;
        all.extend(OURS.iter().map(|&(old, new)| (old.to_owned(), new.to_owned())));
        // An alias of an alias is resolved here, so that nobody has to walk at run time.
        let resolve = |new: &str| all.get(new).map_or(new, String::as_str).to_owned();
        let single: BTreeMap<_, _> = all
            .iter()
            .filter(|(old, _)| !old.contains('-'))
            .map(|(old, new)| (old.clone(), Node::parse(&resolve(new))))
            .collect();
        table(
            out,
            "One subtag that is an old name, another name or a longer name of a language.",
            "LANGUAGE_ALIASES: &[(Subtag, LocaleNode)]",
            single.iter().map(|(old, new)| format!("(s({old:?}), {})", new.source())),
        )?;
        // `und-…` entries are about variants that lost their meaning; none of them names a language.
        let mut several: Vec<_> =
            all.iter().filter(|(old, _)| old.contains('-') && !old.starts_with("und-")).collect();
        several.sort_by_key(|(old, _)| (old.split('-').next(), Reverse(old.matches('-').count()), *old));
        table(
            out,
            "Several subtags that together name a language, grandfathered tags among them; by the first, then the longest first.",
            "PREFIX_ALIASES: &[(&[Subtag], &[Subtag])]",
            several.iter().map(|(old, new)| format!("(&[{}], &[{}])", subtags(old), subtags(&resolve(new)))),
        )?;
        Ok(single)
    }

    fn aliases_of_parts(&self, out: &mut String) -> Result<()> {
        for (kind, about, name) in [
            ("scriptAlias", "Old names of scripts.", "SCRIPT_ALIASES"),
            ("variantAlias", "Old names of variants.", "VARIANT_ALIASES"),
        ] {
            let rows = self.aliases(kind)?.into_iter().map(|(old, new)| format!("(s({old:?}), s({new:?}))"));
            table(out, about, &format!("{name}: &[(Subtag, Subtag)]"), rows)?;
        }
        // Three letters are no region in BCP 47.
        let regions = self.aliases("territoryAlias")?.into_iter().filter(|(old, _)| {
            (old.len() == 2) || (old.len() == 3 && old.bytes().all(|byte| byte.is_ascii_digit()))
        });
        table(
            out,
            "Old names and numbers of regions; where a region split up, all that took its place.",
            "REGION_ALIASES: &[(Subtag, &[Subtag])]",
            regions.map(|(old, new)| format!("(s({old:?}), &[{}])", subtags(&new.replace(' ', "-")))),
        )
    }

    fn parents(&self, out: &mut String, single: &BTreeMap<String, Node>) -> Result<()> {
        let mut rows = BTreeMap::new();
        for (child, parent) in self.parents.as_object().context("parentLocale is no object")? {
            let parent = parent.as_str().context("parentLocale is no string")?;
            let (child, parent) = (renamed(child, single), renamed(parent, single));
            if parent.language == "und" {
                // The rule that a script which is not the likely one has no parent says the same.
                ensure!(!child.script.is_empty() && child.region.is_empty(), "an unexpected root");
                continue;
            }
            let shorter = Node { region: String::new(), ..child.clone() };
            if child != parent && (child.region.is_empty() || shorter != parent) {
                rows.insert(child, parent);
            }
        }
        table(
            out,
            "Parent locales, where leaving out the region does not give them.",
            "PARENTS: &[(LocaleNode, LocaleNode)]",
            rows.iter().map(|(child, parent)| format!("({}, {})", child.source(), parent.source())),
        )
    }

    /// Where the content of a language without a region is not that of its likely region.
    fn default_regions(&self, out: &mut String) -> Result<()> {
        let mut rows = BTreeMap::new();
        for tag in self.default_content.as_array().context("defaultContent is no array")? {
            let full = Node::parse(tag.as_str().context("defaultContent is no string")?);
            let short = Node { region: String::new(), ..full.clone() };
            let key = if short.script.is_empty() {
                short.language.clone()
            } else {
                format!("{}-{}", short.language, capitalized(&short.script))
            };
            let likely = self.likely[&key].as_str().map(Node::parse);
            if likely.is_some_and(|likely| !full.region.is_empty() && likely.region != full.region) {
                rows.insert(short, full.region);
            }
        }
        table(
            out,
            "Regions that a language without a region stands for, where that is not the likely region.",
            "DEFAULT_REGIONS: &[(LocaleNode, Subtag)]",
            rows.iter().map(|(short, region)| format!("({}, s({region:?}))", short.source())),
        )
    }

    /// The day that a week begins on, where it is not Monday.
    fn weeks(&self, out: &mut String) -> Result<()> {
        let mut rows = BTreeMap::new();
        for (region, day) in self.weeks.as_object().context("firstDay is no object")? {
            let day = match day.as_str() {
                Some("mon") => continue,
                Some("fri") => "Friday",
                Some("sat") => "Saturday",
                Some("sun") => "Sunday",
                _ => bail!("an unexpected first day of the week: {day}"),
            };
            // Another usage in the same region is told as `GB-alt-variant`.
            if !region.contains('-') {
                rows.insert(region.to_ascii_lowercase(), day);
            }
        }
        table(
            out,
            "Regions where a week does not begin on Monday.",
            "WEEK_BEGINS: &[(Subtag, Weekday)]",
            rows.iter().map(|(region, day)| format!("(s({region:?}), Weekday::{day})")),
        )
    }

    fn matching(&self, out: &mut String, single: &BTreeMap<String, Node>) -> Result<()> {
        let mut languages = BTreeMap::new();
        let mut scripts = BTreeMap::new();
        let mut regions = Vec::new();
        for rule in self.matching["languageMatch"].as_array().context("languageMatch is no array")? {
            let text = |key: &str| rule[key].as_str().with_context(|| format!("{rule} has no {key}"));
            let (desired, supported) = (text("_desired")?, text("_supported")?);
            let distance = rule["_distance"].as_u64().context("a distance is no number")?;
            let twoway = !rule["_oneway"].as_bool().unwrap_or(false);
            match desired.matches('-').count() {
                2 => {
                    ensure!(twoway, "region rules are read as two-way: {rule}");
                    regions.push(self.region_rule(desired, supported, distance)?);
                }
                level => {
                    let table = if level == 0 { &mut languages } else { &mut scripts };
                    let (desired, supported) = (renamed(desired, single), renamed(supported, single));
                    // Rules of `sh` speak of a language that is `sr-Latn` by its alias.
                    if level == 0 && !(desired.script.is_empty() && supported.script.is_empty()) {
                        continue;
                    }
                    // The first rule that fits wins, so a later one never replaces it.
                    table.entry((desired.clone(), supported.clone())).or_insert(distance);
                    if twoway {
                        table.entry((supported, desired)).or_insert(distance);
                    }
                }
            }
        }
        let any = |node: &Node| node.language == "*";
        for (name, about, table) in [
            ("LANGUAGE", "one language for another", &mut languages),
            ("SCRIPT", "one script for another", &mut scripts),
        ] {
            let rest = table.iter().find(|((desired, _), _)| any(desired)).map(|(_, distance)| *distance);
            let rest = rest.context("no distance for the rest")?;
            writeln!(out, "\n/// What it costs to read {about} where no entry says otherwise.")?;
            writeln!(out, "pub(super) const {name}_DISTANCE: u16 = {rest};")?;
            table.retain(|(desired, supported), _| !any(desired) && desired != supported);
        }
        table(
            out,
            "What it costs a reader of the first language to read the second.",
            "LANGUAGE_DISTANCES: &[(Subtag, Subtag, u16)]",
            languages.iter().map(|((desired, supported), distance)| {
                format!("(s({:?}), s({:?}), {distance})", desired.language, supported.language)
            }),
        )?;
        table(
            out,
            "What it costs a reader of the first language and script to read the script of the second.",
            "SCRIPT_DISTANCES: &[(LocaleNode, LocaleNode, u16)]",
            scripts.iter().map(|((desired, supported), distance)| {
                format!("({}, {}, {distance})", desired.source(), supported.source())
            }),
        )?;
        self.variables(out)?;
        let about =
            "What it costs to read another region's form of a language, both ways; the first that fits.";
        table(out, about, "REGION_RULES: &[RegionRule]", regions.into_iter())
    }

    fn region_rule(&self, desired: &str, supported: &str, distance: u64) -> Result<String> {
        let part = |tag: &str, at: usize| tag.split('-').nth(at).unwrap_or_default().to_owned();
        ensure!(part(desired, 0) == part(supported, 0), "{desired} and {supported}: two languages");
        ensure!(part(desired, 1) == part(supported, 1), "{desired} and {supported}: two scripts");
        let plain = |text: String| {
            if text == "*" { String::new() } else { text.to_ascii_lowercase() }
        };
        Ok(format!(
            "RegionRule {{ language: s({:?}), script: s({:?}), one: {}, other: {}, distance: {distance} }}",
            plain(part(desired, 0)),
            plain(part(desired, 1)),
            self.regions(&part(desired, 2))?,
            self.regions(&part(supported, 2))?,
        ))
    }

    /// `*`, one region, or a variable such as `$americas` and `$!americas`.
    fn regions(&self, pattern: &str) -> Result<String> {
        if pattern == "*" {
            return Ok("Regions::outside(&[])".to_owned());
        }
        let Some(name) = pattern.strip_prefix('$') else {
            return Ok(format!("Regions::inside(&[s({:?})])", pattern.to_ascii_lowercase()));
        };
        let (side, name) = name.strip_prefix('!').map_or(("inside", name), |name| ("outside", name));
        ensure!(self.matching["matchVariables"][format!("${name}")].is_object(), "no variable ${name}");
        Ok(format!("Regions::{side}({})", name.to_ascii_uppercase()))
    }

    /// The sets of regions that the rules name.
    fn variables(&self, out: &mut String) -> Result<()> {
        let variables = &self.matching["matchVariables"];
        for (name, variable) in variables.as_object().context("matchVariables is no object")? {
            let mut members = BTreeSet::new();
            for region in
                variable["_value"].as_str().with_context(|| format!("{name} is no string"))?.split('+')
            {
                self.contained(region, &mut members)?;
            }
            let rows = members.iter().map(|region| format!("s({region:?})"));
            let constant = name.trim_start_matches('$').to_ascii_uppercase();
            table(out, &format!("CLDR's `{name}`."), &format!("{constant}: &[Subtag]"), rows)?;
        }
        Ok(())
    }

    /// A region and everything inside it, groups such as `419` included.
    fn contained(&self, region: &str, members: &mut BTreeSet<String>) -> Result<()> {
        if !members.insert(region.to_ascii_lowercase()) {
            return Ok(());
        }
        for key in [region.to_owned(), format!("{region}-status-grouping")] {
            let Some(inside) = self.containment[&key]["_contains"].as_array() else {
                continue;
            };
            for inner in inside {
                self.contained(inner.as_str().context("a region is no string")?, members)?;
            }
        }
        Ok(())
    }
}

/// A node with its language under the name that the alias table gives it.
fn renamed(tag: &str, single: &BTreeMap<String, Node>) -> Node {
    let mut node = Node::parse(tag);
    if let Some(new) = single.get(&node.language) {
        node.language.clone_from(&new.language);
        if node.script.is_empty() {
            node.script.clone_from(&new.script);
        }
        if node.region.is_empty() {
            node.region.clone_from(&new.region);
        }
    }
    node
}

fn capitalized(script: &str) -> String {
    let mut letters = script.chars();
    letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}

fn subtags(tag: &str) -> String {
    tag.split('-').map(|subtag| format!("s({subtag:?})")).collect::<Vec<_>>().join(", ")
}

fn table(out: &mut String, about: &str, name: &str, rows: impl Iterator<Item = String>) -> Result<()> {
    writeln!(out, "\n/// {about}\npub(super) static {name} = &[")?;
    for row in rows {
        writeln!(out, "    {row},")?;
    }
    writeln!(out, "];")?;
    Ok(())
}
