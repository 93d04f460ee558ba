//! `[callers.clients.NAME]`: entries of the client atlas that an operator writes.
//!
//! 1. An entry says whom it is about (`name`, else the name of its table, and `versions`), and either what the client hands to its
//!    model (`reads`), from which the tags follow, or the tags themselves (`features`). No tags at all switch the profile off.
//! 2. Tables of TOML have no order. So a whole name comes before one that ends with `*`, a longer one of these before a shorter one,
//!    and two entries for the same name may not have a version in common.
//! 3. Entries of a mount come before those at the top, and those before the built-in ones.
//!
//! Rules: A5.

use std::cmp::Reverse;

use mcp_attune::clients::{AtlasEntry, AtlasEntryError, ClientAtlas, ReadField, VersionRange};
use mcp_attune::features::FeaturePreferences;

use super::choice::KeywordSetting;
use super::feature_tags;
use super::findings::{ConfigProblem, quoted};
use super::reader::{ConfigTableReader, TomlValue, text};

impl KeywordSetting for ReadField {
    const ALL: &'static [(&'static str, Self)] =
        &[("content", Self::Content), ("structuredContent", Self::StructuredContent), ("both", Self::Both)];
}

/// Reads `[callers.clients]`, and puts its entries before those of `base`.
pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, base: &ClientAtlas) -> ClientAtlas {
    let mut before = Vec::new();
    reader.named_tables("clients", |label, reader| {
        let entry = read_entry(label, reader)?;
        report_overlap(reader, &entry, &before);
        before.push(entry);
        Some(())
    });
    before.sort_by_key(|entry| Reverse(specificity(entry)));
    match base.clone().with(before) {
        Ok(atlas) => atlas,
        // What is wrong with a single entry is noted where it stands.
        Err((_, error)) => {
            if error == AtlasEntryError::TooMany {
                let what =
                    format!("has more than {} entries with those at the top", ClientAtlas::MAX_ENTRIES);
                let hint = "write fewer: a name that ends with `*` stands for all that begin so";
                reader.report("clients", ConfigProblem::new(what, hint));
            }
            base.clone()
        }
    }
}

/// Returns how closely an entry names its client: a whole name first, then the longest beginning.
fn specificity(entry: &AtlasEntry) -> (bool, usize) {
    let name = entry.names.first().map_or("", AsRef::as_ref);
    (!name.ends_with('*'), name.len())
}

/// Reads one `[callers.clients.NAME]`. Returns `None` if something is wrong with it, which is noted.
fn read_entry(label: &str, reader: &mut ConfigTableReader<'_, '_, '_>) -> Option<AtlasEntry> {
    let name = reader.optional("name", |value| client_name(text(value)?));
    let versions = reader.read("versions", VersionRange::default(), versions);
    let features = feature_tags::read(reader);
    let reads = reader.optional("reads", |value| super::choice::parse_keyword::<ReadField>(text(value)?));
    if let Err(problem) = client_name(label) {
        // The label is the name where none is written, and stands in the log where one is.
        if !reader.has("name") || !is_printable(label) {
            reader.report_table(problem.what.replacen("is", "is named by", 1), problem.hint);
            return None;
        }
    }
    match (reader.has("features"), reader.has("reads")) {
        (false, false) => {
            let hint = "add `reads = \"content\"`, \"structuredContent\" or \"both\", what the client hands to its model; or \
                        `features = []` to switch its profile off";
            reader.report_table("does not say what to assume", hint);
        }
        (true, true) => {
            let hint = "take one of them out: the tags follow from `reads`";
            reader.report("features", ConfigProblem::new("stands beside `reads`", hint));
        }
        _ => {}
    }
    let tags = features.as_deref().unwrap_or_default();
    report_contradiction(reader, tags);
    let tags = match reads {
        Some(reads) => reads.tags().to_vec(),
        None => tags.iter().cloned().map(Into::into).collect(),
    };
    let name = if reader.has("name") { name? } else { label.to_owned() };
    Some(AtlasEntry { versions, reads, tags: tags.into(), ..AtlasEntry::new(label.to_owned(), [name]) })
}

/// Parses a name in `clientInfo`, or the beginning of several.
fn client_name(name: &str) -> Result<String, ConfigProblem> {
    match AtlasEntry::new("", [name.to_owned()]).check() {
        Ok(()) => Ok(name.to_owned()),
        Err(_) => {
            let hint = format!(
                "write it as in `clientInfo`, with at most {} bytes; a `*` may stand at the end of at least three",
                AtlasEntry::MAX_NAME_BYTES
            );
            Err(ConfigProblem::new("is no name of a client", hint))
        }
    }
}

/// Returns whether a label can stand in a line of the log.
fn is_printable(label: &str) -> bool {
    client_name(&label.replace('*', "-")).is_ok()
}

/// Parses a range of versions that has any.
fn versions(value: &TomlValue<'_>) -> Result<VersionRange, ConfigProblem> {
    const HINT: &str = "write \">=1.2\", \"<2\", \">=1.2 <2\" or \"all\"";
    match VersionRange::parse(text(value)?) {
        Some(range) if range.is_empty() => Err(ConfigProblem::new("is a range without versions", HINT)),
        Some(range) => Ok(range),
        None => Err(ConfigProblem::new("is no range of versions", HINT)),
    }
}

/// Notes the first tag that contradicts one before it.
fn report_contradiction(reader: &mut ConfigTableReader<'_, '_, '_>, tags: &[String]) {
    let wanted = FeaturePreferences::read(tags.iter().map(String::as_str));
    if let Some((tag, why)) = wanted.ignored().next() {
        let what = format!("has `{}`, which counts for nothing: {why}", quoted(tag));
        reader.report("features", ConfigProblem::new(what, "take one of them out"));
    }
}

/// Notes an entry for the same name and version as one before it.
fn report_overlap(reader: &mut ConfigTableReader<'_, '_, '_>, entry: &AtlasEntry, before: &[AtlasEntry]) {
    let is_same =
        |other: &&AtlasEntry| other.names == entry.names && other.versions.overlaps(&entry.versions);
    if let Some(other) = before.iter().take(ClientAtlas::MAX_ENTRIES).find(is_same) {
        let what = format!("is about versions of a client that `{}` is about, too", quoted(&other.product));
        reader.report_table(what, "give each `versions` of its own, such as \"<2\" and \">=2\"");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn parse(clients: &str) -> Result<ClientAtlas, String> {
        let config = Config::parse(&format!("[callers]\nprofile = 'auto'\n{clients}\n"), "attune.toml");
        config.map(|config| config.mounts[0].callers.clients.clone()).map_err(|findings| findings.to_string())
    }

    #[test]
    fn each_bad_value_of_an_entry_is_a_finding_that_says_what_to_write() {
        let long = format!("name = '{}'\nreads = 'both'", "n".repeat(257));
        let many: String = (0..65).map(|tag| format!("'x-{tag}',")).collect();
        let many = format!("features = [{many}]");
        for (entry, what, hint) in [
            (
                "versions = '^1.2'\nreads = 'both'",
                "`callers.clients.acme.versions` is no range of versions",
                ">=1.2 <2",
            ),
            ("versions = '>=2 <2'\nreads = 'both'", "is a range without versions", ">=1.2 <2"),
            ("versions = 2\nreads = 'both'", "is an integer, not a string", "in quotes"),
            (
                "features = ['agent', 'loud']",
                "`callers.clients.acme.features[1]` is no feature tag",
                "features parse",
            ),
            (
                "features = ['agent', 'human']",
                "has `human`, which counts for nothing",
                "take one of them out",
            ),
            ("features = 'agent'", "is a string, not an array of strings", "in brackets"),
            (&*many, "has 1 tags more than fit", "at most 64"),
            (
                "reads = 'text'",
                "`callers.clients.acme.reads` is none of its 3 values",
                "\"structuredContent\"",
            ),
            ("reads = 'structuredcontent'", "is none of its 3 values", "did you mean \"structuredContent\"?"),
            (
                "name = 'ab*'\nreads = 'both'",
                "`callers.clients.acme.name` is no name of a client",
                "at least three",
            ),
            (&*long, "is no name of a client", "at most 256 bytes"),
            ("", "[callers.clients.acme] does not say what to assume", "features = []"),
            ("reads = 'both'\nfeatures = []", "stands beside `reads`", "take one of them out"),
            ("tags = ['agent']", "there is no key `tags` in [callers.clients.acme]", "`features`"),
            ("version = '>=2'\nreads = 'both'", "there is no key `version`", "did you mean `versions`?"),
        ] {
            let found = parse(&format!("[callers.clients.acme]\n{entry}")).expect_err(entry);
            assert!(found.contains(what) && found.contains(hint), "{entry}\n{found}");
        }
        for label in ["''", "'*'", "'a\\u001b'"] {
            let label = label.replace('\'', "\"");
            let found = parse(&format!("[callers.clients.{label}]\nreads = 'both'")).expect_err(&label);
            assert!(found.contains("is named by no name of a client"), "{label}\n{found}");
        }
        // The label stands in the log, even where another name is written.
        let found = parse("[callers.clients.\"a\\u001b\"]\nname = 'acme'\nreads = 'both'").unwrap_err();
        assert!(found.contains("is named by no name of a client"), "{found}");
    }

    #[test]
    fn an_entry_says_what_to_assume_in_either_way() {
        let atlas = parse(
            "[callers.clients.'acme-desktop']\nreads = 'content'\n\
             [callers.clients.older]\nname = 'codex-mcp-client'\nversions = '<1'\nfeatures = []\n\
             [callers.clients.own]\nname = 'own-*'\nfeatures = ['human', 'verbosity=compact']",
        );
        let atlas = atlas.unwrap();
        let tags =
            |name, version| atlas.profile(name, version).map(|entry| (&*entry.product, entry.tags.join(" ")));
        assert_eq!(tags("acme-desktop", "dev"), Some(("acme-desktop", "agent format=markdown".to_owned())));
        assert_eq!(tags("codex-mcp-client", "0.169.0"), Some(("older", String::new())));
        assert_eq!(tags("codex-mcp-client", "1.0"), Some(("Codex", "agent".to_owned())));
        assert_eq!(tags("own-thing", "3"), Some(("own", "human verbosity=compact".to_owned())));
    }

    /// Whatever the tables are called, and in whatever order they stand.
    #[test]
    fn the_entry_that_names_a_client_most_closely_counts() {
        let entry =
            |label: &str, name: &str| format!("[callers.clients.{label}]\nname = '{name}'\nfeatures = []\n");
        for order in [["a", "b", "c"], ["c", "b", "a"]] {
            let [all, some, one] = order;
            let file = [entry(all, "acme-*"), entry(some, "acme-desk*"), entry(one, "acme-desktop")].concat();
            let atlas = parse(&file).unwrap();
            let found = |name| atlas.profile(name, "1").map(|entry| entry.product.to_string());
            assert_eq!(found("acme-desktop").as_deref(), Some(one));
            assert_eq!(found("acme-desk-lamp").as_deref(), Some(some));
            assert_eq!(found("acme-phone").as_deref(), Some(all));
            // A whole name comes first, even before a beginning that is written with as many characters.
            let atlas = parse(&[entry(all, "acm*"), entry(one, "acme")].concat()).unwrap();
            assert_eq!(atlas.profile("acme", "1").unwrap().product, one);
        }
    }

    #[test]
    fn two_entries_for_the_same_client_are_a_finding_unless_their_versions_differ() {
        let both = |old: &str, new: &str| {
            parse(&format!(
                "[callers.clients.old]\nname = 'acme'\nreads = 'content'\nversions = '{old}'\n\
                 [callers.clients.new]\nname = 'acme'\nreads = 'both'\nversions = '{new}'\n"
            ))
        };
        let found = both("<3", ">=2").unwrap_err();
        assert!(found.contains("is about versions of a client that `new` is about, too"), "{found}");
        let atlas = both("<2", ">=2").unwrap();
        assert_eq!(atlas.profile("acme", "1.9").unwrap().product, "old");
        assert_eq!(atlas.profile("acme", "2.0").unwrap().product, "new");
    }

    #[test]
    fn entries_are_bounded_in_number() {
        let entries = |count: usize| {
            let entries = (0..count).map(|at| format!("[callers.clients.c{at}]\nfeatures = []\n"));
            entries.collect::<String>()
        };
        assert_eq!(
            parse(&entries(ClientAtlas::MAX_ENTRIES)).unwrap().added().len(),
            ClientAtlas::MAX_ENTRIES
        );
        let found = parse(&entries(ClientAtlas::MAX_ENTRIES + 1)).unwrap_err();
        assert!(found.contains("`callers.clients` has more than 256 entries"), "{found}");
    }

    #[test]
    fn entries_of_a_mount_come_before_those_at_the_top() {
        let file = r#"
            [callers]
            profile = "auto"
            [callers.clients.acme]
            reads = "content"
            [mounts.a]
            path = "/a"
            upstream = { url = "http://127.0.0.1:1/mcp" }
            [mounts.b]
            path = "/b"
            upstream = { url = "http://127.0.0.1:1/mcp" }
            [mounts.b.callers.clients.here]
            name = "acm*"
            reads = "both"
        "#;
        let config = Config::parse(file, "attune.toml").unwrap();
        let found = |mount: usize, name| {
            config.mounts[mount].callers.clients.profile(name, "9").unwrap().product.clone()
        };
        assert_eq!((found(0, "acme"), found(1, "acme")), ("acme".into(), "here".into()));
        assert_eq!(found(1, "mcp-use"), "mcp-use", "the built-in ones come last");
    }
}
