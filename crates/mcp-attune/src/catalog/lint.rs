//! What is doubtful about a translation that can be read: it is used as it stands, and should not be.
//!
//! 1. A variable that the default language has and the translation has not, or the other way round. What a message
//!    refers to counts, and so does choosing by a variable without showing it.
//! 2. What machines read, in the middle of a sentence: names of tools and arguments, addresses, code in backquotes.
//!    It stays as it is in every language. The same holds for the names of entries: one that the default language
//!    does not have, beside one that is not translated, is most likely a name that was.
//! 3. Letters of two alphabets in one word, and letters of a script that neither language is written in.
//! 4. Blanks at an end where the default language has none.
//! 5. Text much longer than in the default language: more than twice as long and twenty characters.
//! 6. Text for which there is no room: what people see while a tool runs, or when it is done, has 64 characters at most
//!    (Unicode scalar values), also in the default language.
//! 7. Values of a result field of which some are translated and others are not, and values that the default language does
//!    not have where it has others of that field.
//! 8. Plural forms that the language does not have, and those that it has and numbers up to 200 need.
//! 9. A tag that is not the one by which callers ask: another case, an old name, an unknown language.
//!
//! Empty texts, unknown keys and Fluent errors are told when a file is read: see [`Finding`](super::Finding).
//!
//! Rules: L8, L11, L22.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::tz::TimeZone;

use super::locale::CompiledLocale;
use super::locale_file::{LocaleFileEntry, ParsedLocaleFile};
use super::pseudo::PseudoLocale;
use super::script;
use super::slot::LocaleKeyPath;
use super::translation_problem::{TranslationFinding, TranslationProblem};
use super::verbatim::VerbatimNames;
use crate::format::{DecimalNumber, Formatters, ValueFormatter};
use crate::language::{Tag, canonical};
use crate::messages::MessageAnalysis;

/// How many characters a text may have that people see while a tool runs, or when it is done.
const MAX_INVOCATION_CHARS: usize = 64;

/// Compares a translation with the file of the default language, and tells what is doubtful about it. Of the default
/// language's own file there is only the tag to doubt, and what there is no room for: what stands in it is what the server says.
///
/// ```
/// use mcp_attune::catalog::{ParsedLocaleFile, lint};
/// use mcp_attune::language::Tag;
///
/// let read = |text: &str| ParsedLocaleFile::read(text.as_bytes()).unwrap().0;
/// let default = read(r#"{"tools":{"a":{"description":"Asks book_seat"}}}"#);
/// let german = read(r#"{"tools":{"a":{"description":"Fragt buche_platz "}}}"#);
/// let remarks: Vec<_> = lint(&Tag::parse("de").unwrap(), &german, Some(&default)).iter().map(ToString::to_string).collect();
/// assert_eq!(remarks, [
///     "tools.a.description: a blank at the beginning or the end",
///     "tools.a.description: `book_seat` is not here as it was",
/// ]);
/// ```
#[must_use]
pub fn lint(
    tag: &Tag,
    sheet: &ParsedLocaleFile,
    default: Option<&ParsedLocaleFile>,
) -> Vec<TranslationFinding> {
    lint_with_relatives(tag, sheet, default, &[])
}

/// The same where relatives of the language have files too: `de-CH` need not repeat what `de` has.
#[must_use]
pub fn lint_with_relatives(
    tag: &Tag,
    sheet: &ParsedLocaleFile,
    default: Option<&ParsedLocaleFile>,
    relatives: &[&ParsedLocaleFile],
) -> Vec<TranslationFinding> {
    let mut remarks = check_tag(tag);
    let (ours, _) = CompiledLocale::new(tag.clone(), sheet);
    let plurals = PluralFormChecker::new(tag);
    // A pseudo-locale has the forms of the default language.
    for line in sheet.entries().filter(|_| PseudoLocale::of(tag).is_none()) {
        let pattern = message_key(line).is_some() || line.path.as_value().is_some();
        if let Some(look) = analyze_text(&ours, line).filter(|_| pattern) {
            remarks.extend(plurals.form_problems(&look).into_iter().map(|what| finding_at(line, what)));
        }
        // A pseudo-locale is longer on purpose.
        remarks.extend(over_limit(line).map(|what| finding_at(line, what)));
    }
    if let Some(default) = default {
        remarks.extend(compare(tag, sheet, &ours, default));
        remarks.extend(translated_names(sheet, default));
        remarks.extend(check_values(sheet, default, relatives));
    }
    remarks.sort_by_key(|remark| remark.at);
    remarks
}

fn finding_at(line: &LocaleFileEntry, what: TranslationProblem) -> TranslationFinding {
    TranslationFinding { path: line.path.clone(), at: line.at, what }
}

/// What there is no room for.
fn over_limit(line: &LocaleFileEntry) -> Option<TranslationProblem> {
    let names: Vec<_> = line.path.names().collect();
    let ["tools", _, "invoking" | "invoked"] = names.as_slice() else { return None };
    let count = line.text.chars().count();
    (count > MAX_INVOCATION_CHARS).then_some(TranslationProblem::OverLimit(count, MAX_INVOCATION_CHARS))
}

/// The key of a message.
fn message_key(line: &LocaleFileEntry) -> Option<&str> {
    let mut names = line.path.names();
    (names.next() == Some("messages")).then(|| names.next()).flatten()
}

/// A text taken apart. Returns `None` for a pattern that cannot be used: that was told when it was read.
fn analyze_text(locale: &CompiledLocale, line: &LocaleFileEntry) -> Option<MessageAnalysis> {
    match (message_key(line), line.path.as_value()) {
        (Some(key), _) => locale.messages().analyze(key),
        (None, Some(value)) => {
            let known = |name: &str| value.source.contains(&format!("{{{name}}}"));
            MessageAnalysis::of_pattern(&line.text)
                .filter(|look| look.variables.iter().all(|name| known(name)))
        }
        (None, None) => Some(analyze_plain(&line.text)),
    }
}

fn check_tag(tag: &Tag) -> Vec<TranslationFinding> {
    let doubt = |what| vec![TranslationFinding { path: LocaleKeyPath::default(), at: 0, what }];
    let better = in_usual_case(&canonical(tag.as_str()));
    let own = tag.primary();
    // Private use has no meaning but its users'.
    let private = own.eq_ignore_ascii_case("x") || ("qaa"..="qtz").contains(&&*own.to_ascii_lowercase());
    if better != tag.as_str() {
        doubt(TranslationProblem::Tag(better.into()))
    } else if script::of(tag).is_none() && !private {
        doubt(TranslationProblem::UnknownLanguage)
    } else {
        Vec::new()
    }
}

/// The usual case: `zh-Hant-TW`.
fn in_usual_case(tag: &str) -> String {
    let mut singleton = false;
    let subtags = tag.split('-').enumerate().map(|(at, subtag)| {
        let lower = subtag.to_ascii_lowercase();
        singleton |= at > 0 && lower.len() == 1;
        match lower.len() {
            _ if at == 0 || singleton => lower,
            2 => lower.to_ascii_uppercase(),
            4 if !lower.starts_with(|it: char| it.is_ascii_digit()) => {
                let (first, rest) = lower.split_at_checked(1).unwrap_or_default();
                first.to_ascii_uppercase() + rest
            }
            _ => lower,
        }
    });
    subtags.collect::<Vec<_>>().join("-")
}

fn compare(
    tag: &Tag,
    sheet: &ParsedLocaleFile,
    ours: &CompiledLocale,
    default: &ParsedLocaleFile,
) -> Vec<TranslationFinding> {
    let (theirs, _) = CompiledLocale::new(tag.clone(), default);
    let known: HashMap<&LocaleKeyPath, &LocaleFileEntry> =
        default.entries().map(|line| (&line.path, line)).collect();
    let names = VerbatimNames::of(default);
    let scripts = script::of(tag).unwrap_or_default();
    let mut remarks = Vec::new();
    for line in sheet.entries() {
        let Some(source) = known.get(&line.path) else { continue };
        let blank = |text: &str| text.trim() != text;
        if blank(&line.text) && !blank(&source.text) {
            remarks.push(finding_at(line, TranslationProblem::Untrimmed));
        }
        // Codes such as `partly_cloudy` are what is translated here.
        let names = Some(&names).filter(|_| line.path.as_value().is_none());
        if let (Some(look), Some(from)) = (analyze_text(ours, line), analyze_text(&theirs, source)) {
            let doubts = find_problems(&look, &from, names, scripts);
            remarks.extend(doubts.into_iter().map(|what| finding_at(line, what)));
        }
    }
    remarks
}

/// A text that is no message, taken apart like one.
fn analyze_plain(text: &str) -> MessageAnalysis {
    let mut look = MessageAnalysis::default();
    (look.own, look.said) = (text.to_owned(), text.to_owned());
    look.longest = text.chars().count();
    look
}

fn find_problems(
    look: &MessageAnalysis,
    from: &MessageAnalysis,
    names: Option<&VerbatimNames<'_>>,
    scripts: &[icu_properties::props::Script],
) -> Vec<TranslationProblem> {
    let mut doubts = Vec::new();
    doubts.extend(from.variables.difference(&look.variables).cloned().map(TranslationProblem::LostVariable));
    doubts.extend(
        look.variables.difference(&from.variables).cloned().map(TranslationProblem::InventedVariable),
    );
    let verbatim = names.map(|names| names.find(&from.own)).unwrap_or_default();
    let verbatim: BTreeSet<&str> = verbatim.into_iter().filter_map(|at| from.own.get(at)).collect();
    doubts.extend(
        verbatim
            .into_iter()
            .filter(|name| !look.said.contains(name))
            .map(|name| TranslationProblem::LostName(name.into())),
    );
    doubts.extend(script::mixed_word(&look.own).map(|word| TranslationProblem::MixedScripts(word.into())));
    if !scripts.is_empty() {
        let known = [scripts, &script::scripts_in(&from.said)].concat();
        doubts.extend(
            script::foreign_script(&look.own, &known)
                .map(|it| TranslationProblem::ForeignScript(script::name(it))),
        );
    }
    if look.longest > 2 * from.longest + 20 {
        doubts.push(TranslationProblem::Longer(look.longest, from.longest));
    }
    doubts
}

/// Entries that the default language does not have, where it has others that are not translated.
fn translated_names(sheet: &ParsedLocaleFile, default: &ParsedLocaleFile) -> Vec<TranslationFinding> {
    let (ours, theirs) = (names_by_group(sheet), names_by_group(default));
    let mut told = HashSet::new();
    let mut remarks = Vec::new();
    for line in sheet.entries() {
        for (group, name) in path_groups(&line.path) {
            let Some(known) = theirs.get(&group).filter(|known| !known.contains(name)) else { continue };
            let missing = ours.get(&group).is_some_and(|ours| !known.is_subset(ours));
            if missing && told.insert((group, name)) {
                remarks.push(finding_at(line, TranslationProblem::TranslatedName(name.into())));
            }
            break;
        }
    }
    remarks
}

/// Values that are missing or too many, in fields of which this file translates some.
fn check_values(
    sheet: &ParsedLocaleFile,
    default: &ParsedLocaleFile,
    relatives: &[&ParsedLocaleFile],
) -> Vec<TranslationFinding> {
    /// The fields with values, each with the first of them.
    fn fields(sheet: &ParsedLocaleFile) -> HashMap<(&str, &str), &LocaleFileEntry> {
        let lines = sheet.entries().rev();
        lines.filter_map(|line| line.path.as_value().map(|it| ((it.tool, it.field), line))).collect()
    }
    fn paths(sheet: &ParsedLocaleFile) -> impl Iterator<Item = &LocaleKeyPath> {
        sheet.entries().map(|line| &line.path)
    }
    let (ours, theirs) = (fields(sheet), fields(default));
    let known: HashSet<&LocaleKeyPath> = paths(default).collect();
    let translated: HashSet<&LocaleKeyPath> =
        paths(sheet).chain(relatives.iter().flat_map(|sheet| paths(sheet))).collect();
    let mut remarks = Vec::new();
    for line in sheet.entries().filter(|line| !known.contains(&line.path)) {
        if let Some(value) = line.path.as_value().filter(|it| theirs.contains_key(&(it.tool, it.field))) {
            remarks.push(finding_at(line, TranslationProblem::UnknownValue(value.source.into())));
        }
    }
    for line in default.entries().filter(|line| !translated.contains(&line.path)) {
        let Some(value) = line.path.as_value() else { continue };
        // It is told where the field's first value stands.
        if let Some(first) = ours.get(&(value.tool, value.field)) {
            let what = TranslationProblem::MissingValue(value.source.into());
            remarks.push(TranslationFinding { path: line.path.clone(), at: first.at, what });
        }
    }
    remarks
}

/// The names in each group of named things: `tools`, `tools.get_weather.arguments`.
fn names_by_group(sheet: &ParsedLocaleFile) -> HashMap<Vec<&str>, HashSet<&str>> {
    let mut entries = HashMap::<_, HashSet<_>>::new();
    for (group, name) in sheet.entries().flat_map(|line| path_groups(&line.path)) {
        entries.entry(group).or_default().insert(name);
    }
    entries
}

/// The groups that a path goes through, and the name in each; messages are named by people, and others may have more.
fn path_groups(path: &LocaleKeyPath) -> Vec<(Vec<&str>, &str)> {
    let names: Vec<_> = path.names().collect();
    match names.as_slice() {
        ["messages" | "keywords" | "server" | "author", ..] => Vec::new(),
        [section, name, _] => vec![(vec![section], name)],
        // The last two of six are a value of the field, which is looked at by itself.
        [section, name, group, inner, _] | [section, name, group, inner, _, _] => {
            vec![(vec![section], *name), (vec![section, name, group], *inner)]
        }
        _ => Vec::new(),
    }
}

/// The plural forms of a language.
struct PluralFormChecker {
    format: ValueFormatter,
}

impl PluralFormChecker {
    fn new(tag: &Tag) -> Self {
        Self { format: Formatters::default().for_locales([tag], TimeZone::UTC) }
    }

    fn plural_form(&self, number: u8) -> &'static str {
        self.format.plural(&DecimalNumber::from(i64::from(number))).as_str()
    }

    fn form_problems(&self, look: &MessageAnalysis) -> Vec<TranslationProblem> {
        const MAX_TESTED_NUMBER: u8 = 200;
        if look.choices.is_empty() {
            return Vec::new();
        }
        // Forms of fractions and of millions count as known.
        let others = ["1.5", "0.1", "2.3", "1000000", "1.0"].map(DecimalNumber::parse).into_iter().flatten();
        let others = others.map(|number| self.format.plural(&number).as_str());
        let known: BTreeSet<_> =
            (0..=MAX_TESTED_NUMBER).map(|number| self.plural_form(number)).chain(others).collect();
        let mut doubts = Vec::new();
        for choice in &look.choices {
            let unknown = choice.forms.iter().filter(|form| &***form != "other" && !known.contains(&***form));
            doubts.extend(unknown.cloned().map(TranslationProblem::UnknownForm));
            let mut told = BTreeSet::from(["other"]);
            for number in 0..=MAX_TESTED_NUMBER {
                let form = self.plural_form(number);
                let has = choice.forms.contains(form) || choice.numbers.contains(&*number.to_string());
                if !has && told.insert(form) {
                    doubts.push(TranslationProblem::MissingForm(form, number));
                }
            }
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: &str = r#"{"server":{"title":"Travel in Switzerland"},
        "tools":{"get_weather":{"title":"Weather","description":"Asks book_seat","arguments":{"city":{"title":"City"}}},"b":{"title":"B "}},
        "messages":{"m":{"source":"{n} of {total} pages","text":"{ $n ->\n [one] One of { -total }\n *[other] { $n } of { -total }\n}"},
        "-total":{"text":"{ $total } pages"},"k":{"text":"{ $n } by `find`"}}}"#;

    /// Holds a translation against the default language; the places are left out.
    #[track_caller]
    fn check(tag: &str, file: &str, expected: &[&str]) {
        let read = |text: &str| ParsedLocaleFile::read(text.as_bytes()).unwrap().0;
        let remarks = lint(&Tag::parse(tag).unwrap(), &read(file), Some(&read(DEFAULT)));
        assert_eq!(remarks.iter().map(ToString::to_string).collect::<Vec<_>>(), expected, "{tag} {file}");
        assert!(
            remarks.iter().all(|remark| !remark.what.hint().is_empty() && !remark.what.kind().is_empty())
        );
    }

    fn titled(title: &str) -> String {
        format!(r#"{{"server":{{"title":"{title}"}}}}"#)
    }

    #[test]
    fn a_good_translation_gives_no_reason_to_doubt() {
        let german = r#"{"server":{"title":"Reisen in der Schweiz"},"tools":{"get_weather":{"title":"Wetter","description":"Fragt book_seat"}},
            "messages":{"m":{"source":"{n} of {total} pages","text":"{ $n ->\n [one] Eine\n *[other] { $n }\n} von { $total } Seiten"},"k":{"text":"`find`: { $n }"}}}"#;
        check("de", german, &[]);
        check("de", DEFAULT, &[]);
    }

    #[test]
    fn variables_are_neither_lost_nor_invented() {
        check(
            "de",
            r#"{"messages":{"m":{"source":"{n} of {total} pages","text":"{ -total }"},"-total":{"text":"{ $total }"},"k":{"text":"`find` { $m }"}}}"#,
            &[
                "messages.m.text: the variable $n is lost",
                "messages.k.text: the variable $n is lost",
                "messages.k.text: there is no variable $m in the default language",
            ],
        );
    }

    #[test]
    fn names_are_not_translated() {
        check(
            "de",
            r#"{"tools":{"hole_wetter":{"title":"Wetter","description":"x"},"b":{"title":"B"}},"messages":{"k":{"text":"{ $n } mit `suche`"}}}"#,
            &[
                "tools.hole_wetter.title: the default language has no `hole_wetter`, and another is missing",
                "messages.k.text: `find` is not here as it was",
            ],
        );
        check(
            "de",
            r#"{"tools":{"get_weather":{"description":"Fragt buche_platz","arguments":{"stadt":{"title":"Stadt"},"city":{"title":"Stadt"}}}}}"#,
            &["tools.get_weather.description: `book_seat` is not here as it was"],
        );
        // What the server no longer has is surplus, and no name that was translated.
        check("de", r#"{"tools":{"get_weather":{"title":"x"},"b":{"title":"y"},"gone":{"title":"z"}}}"#, &[]);
        check(
            "de",
            r#"{"tools":{"get_weather":{"arguments":{"stadt":{"title":"Stadt"}}}}}"#,
            &[
                "tools.get_weather.arguments.stadt.title: the default language has no `stadt`, and another is missing",
            ],
        );
    }

    #[test]
    fn letters_are_of_one_alphabet_and_of_the_language() {
        let mixed = "server.title: the word `Пoездка` has letters of two alphabets";
        check("ru", &titled("Пoездка"), &[mixed]);
        check("ru", &titled("Поездка, 5 kΩ, HTTP-сервер"), &[]);
        check(
            "de",
            &titled("Поездка"),
            &["server.title: Cyrillic letters, which this language is not written in"],
        );
        check("ja", &titled("旅のJSONサービス"), &[]);
        check(
            "zh-Hant",
            &titled("旅行サービス"),
            &["server.title: Katakana letters, which this language is not written in"],
        );
        check("sr", &titled("Putovanje"), &[]);
    }

    #[test]
    fn text_is_trimmed_and_about_as_long_as_its_source() {
        check("de", &titled(" Reisen"), &["server.title: a blank at the beginning or the end"]);
        check("de", r#"{"tools":{"b":{"title":"B "}}}"#, &[]);
        check("de", &titled(&"x".repeat(2 * 21 + 20)), &[]);
        check(
            "de",
            &titled(&"x".repeat(2 * 21 + 21)),
            &["server.title: 63 characters, where the default language has 21"],
        );
    }

    #[test]
    fn what_is_seen_while_a_tool_runs_has_room() {
        let file =
            |text: &str| format!(r#"{{"tools":{{"get_weather":{{"invoking":"{text}","invoked":"ok"}}}}}}"#);
        check("de", &file(&"ü".repeat(64)), &[]);
        let over = "tools.get_weather.invoking: 65 characters, where 64 are allowed";
        check("de", &file(&"ü".repeat(65)), &[over]);
        // A family is drawn as one and counted as five.
        check("de", &file(&"👨‍👩‍👧".repeat(13)), &[over]);
        check("en-XA", &file(&"ü".repeat(65)), &[]);
        // What the server itself says is too long for others too.
        let own = ParsedLocaleFile::read(file(&"x".repeat(65)).as_bytes()).unwrap().0;
        let remarks = lint(&Tag::parse("en").unwrap(), &own, None);
        assert_eq!(remarks.iter().map(ToString::to_string).collect::<Vec<_>>(), [over]);
        assert_eq!(remarks[0].what.kind(), "over-limit");
    }

    #[test]
    fn plural_forms_are_those_of_the_language() {
        let message = |forms: &str| {
            format!(r#"{{"messages":{{"k":{{"text":"{{ $n ->{forms}\n *[other] x\n}} `find`"}}}}}}"#)
        };
        check(
            "de",
            &message("\\n [few] y\\n [one] z"),
            &["messages.k.text: this language has no plural form [few]"],
        );
        check(
            "pl",
            &message("\\n [one] z"),
            &[
                "messages.k.text: the plural form [many] is missing, which 0 needs",
                "messages.k.text: the plural form [few] is missing, which 2 needs",
            ],
        );
        check("pl", &message("\\n [one] z\\n [few] a\\n [many] b"), &[]);
        // Arabic has a form for zero alone, and a number can stand for it.
        check("ar", &message("\\n [0] z\\n [one] a\\n [two] b\\n [few] c\\n [many] d"), &[]);
        // In French millions have a form of their own, which few texts need.
        check("fr", &message("\\n [one] z"), &[]);
        check("fr", &message("\\n [one] z\\n [many] y"), &[]);
        check("de", &message("\\n [red] z"), &[]);
    }

    #[test]
    fn a_tag_is_the_one_that_callers_ask_by() {
        check("de-ch", "{}", &["the file: the language is better called de-CH"]);
        check("iw", "{}", &["the file: the language is better called he"]);
        check("ZH-hant-tw", "{}", &["the file: the language is better called zh-Hant-TW"]);
        check("qqj", "{}", &[]);
        check("xxy", "{}", &["the file: nothing is known about this language"]);
        for fine in
            ["de-CH-1996", "es-419", "zh-Hant", "sl-rozaj", "en-u-nu-thai", "en-XA", "x-klingon", "rm"]
        {
            check(fine, "{}", &[]);
        }
    }
}
