//! A text on its way to what it means: a date, a phrase, or a range of them.

use super::span::CalendarSpan;
use super::table::PhraseTable;
use super::text::normalize;
use super::{ExpressionLanguage, ExpressionMeaning, TimeExpressionError, When, iso};

type Tables<'t> = &'t [&'static PhraseTable];
type ParsedMeaning = Option<Result<ExpressionMeaning, TimeExpressionError>>;

/// Reads a text: dates first, which are the same everywhere, then phrases, the language's before English, then ranges.
pub(super) fn read(
    text: &str,
    language: ExpressionLanguage,
) -> Result<ExpressionMeaning, TimeExpressionError> {
    // No need to count the letters of a text that has more bytes than so many letters can have.
    if text.len() > When::MAX_LEN * 4 || text.chars().count() > When::MAX_LEN {
        return Err(TimeExpressionError::TooLong);
    }
    let text = normalize(text);
    let (own, english) = (language.table(), ExpressionLanguage::English.table());
    // The language comes first; English by itself need not be asked twice.
    let tables = if language == ExpressionLanguage::English { &[english][..] } else { &[own, english] };
    let found = date_or_phrase(&text, tables)
        .or_else(|| dotted_range(&text, tables))
        .or_else(|| worded_range(&text, tables));
    found.unwrap_or(Err(TimeExpressionError::Unknown))
}

/// A date or a phrase.
fn date_or_phrase(text: &str, tables: Tables<'_>) -> ParsedMeaning {
    if let Some(date) = iso::read(text) {
        return Some(date.map(ExpressionMeaning::Span));
    }
    tables.iter().find_map(|table| {
        if table.lists.spaced {
            return table.phrases.find(text, &table.lists);
        }
        table.phrases.find(&text.replace(' ', ""), &table.lists)
    })
}

/// `A..B`
fn dotted_range(text: &str, tables: Tables<'_>) -> ParsedMeaning {
    let (from, to) = text.split_once("..")?;
    between(from, to, tables)
}

/// `A to B`, wherever the words of a range stand.
fn worded_range(text: &str, tables: Tables<'_>) -> ParsedMeaning {
    tables.iter().flat_map(|table| &table.ranges).find_map(|range| {
        let inner = text.strip_prefix(range.before.as_str())?.strip_suffix(range.after.as_str())?;
        inner.match_indices(range.between.as_str()).find_map(|(at, found)| {
            let (from, to) = (inner.get(..at)?, inner.get(at + found.len()..)?);
            between(from, to, tables)
        })
    })
}

fn between(from: &str, to: &str, tables: Tables<'_>) -> ParsedMeaning {
    let end = |text: &str| date_or_phrase(text.trim(), tables);
    let (from, to) = (end(from)?, end(to)?);
    match (from.and_then(span), to.and_then(span)) {
        (Ok(from), Ok(to)) => Some(Ok(ExpressionMeaning::Between(from, to))),
        (Err(wrong), _) | (_, Err(wrong)) => Some(Err(wrong)),
    }
}

/// What can be the end of a range.
fn span(meaning: ExpressionMeaning) -> Result<CalendarSpan, TimeExpressionError> {
    match meaning {
        ExpressionMeaning::Span(span) => Ok(span),
        ExpressionMeaning::Between(..) | ExpressionMeaning::ToDate(_) | ExpressionMeaning::Rolling(_) => {
            Err(TimeExpressionError::Unknown)
        }
    }
}
