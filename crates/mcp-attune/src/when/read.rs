//! A text on its way to what it means: a date, a phrase, or a range of them.

use super::span::Span;
use super::table::Table;
use super::text::plain;
use super::{Language, Meaning, Unreadable, When, iso};

type Tables<'t> = &'t [&'static Table];
type Found = Option<Result<Meaning, Unreadable>>;

/// Reads a text: dates first, which are the same everywhere, then phrases, the language's before English, then ranges.
pub(super) fn read(text: &str, language: Language) -> Result<Meaning, Unreadable> {
    // No need to count the letters of a text that has more bytes than so many letters can have.
    if text.len() > When::MAX_LEN * 4 || text.chars().count() > When::MAX_LEN {
        return Err(Unreadable::TooLong);
    }
    let text = plain(text);
    let (own, english) = (language.table(), Language::English.table());
    // The language comes first; English by itself need not be asked twice.
    let tables = if language == Language::English { &[english][..] } else { &[own, english] };
    let found = one(&text, tables).or_else(|| dots(&text, tables)).or_else(|| words(&text, tables));
    found.unwrap_or(Err(Unreadable::Unknown))
}

/// A date or a phrase.
fn one(text: &str, tables: Tables<'_>) -> Found {
    if let Some(date) = iso::read(text) {
        return Some(date.map(Meaning::Span));
    }
    tables.iter().find_map(|table| {
        if table.lists.spaced {
            return table.phrases.find(text, &table.lists);
        }
        table.phrases.find(&text.replace(' ', ""), &table.lists)
    })
}

/// `A..B`
fn dots(text: &str, tables: Tables<'_>) -> Found {
    let (from, to) = text.split_once("..")?;
    between(from, to, tables)
}

/// `A to B`, wherever the words of a range stand.
fn words(text: &str, tables: Tables<'_>) -> Found {
    tables.iter().flat_map(|table| &table.ranges).find_map(|range| {
        let inner = text.strip_prefix(range.before.as_str())?.strip_suffix(range.after.as_str())?;
        inner.match_indices(range.between.as_str()).find_map(|(at, found)| {
            let (from, to) = (inner.get(..at)?, inner.get(at + found.len()..)?);
            between(from, to, tables)
        })
    })
}

fn between(from: &str, to: &str, tables: Tables<'_>) -> Found {
    let end = |text: &str| one(text.trim(), tables);
    let (from, to) = (end(from)?, end(to)?);
    match (from.and_then(span), to.and_then(span)) {
        (Ok(from), Ok(to)) => Some(Ok(Meaning::Between(from, to))),
        (Err(wrong), _) | (_, Err(wrong)) => Some(Err(wrong)),
    }
}

/// What can be the end of a range.
fn span(meaning: Meaning) -> Result<Span, Unreadable> {
    match meaning {
        Meaning::Span(span) => Ok(span),
        Meaning::Between(..) | Meaning::ToDate(_) | Meaning::Rolling(_) => Err(Unreadable::Unknown),
    }
}
