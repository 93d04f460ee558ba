//! Phrases of a language as a tree of words, and the one matcher for all languages.

use jiff::civil::Weekday;

use super::span::{CalendarSpan, CalendarUnit, RelativeWeekday};
use super::{ExpressionMeaning, TimeExpressionError, When};

/// What a phrase means, before the words in it that vary are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PhraseSense {
    /// The one unit that lies so many after the current.
    One(i32),
    /// The one unit that lies N before the current.
    Ago,
    /// The one unit that lies N after the current.
    Ahead,
    /// The N units before the current.
    LastN,
    /// The N units after the current.
    NextN,
    /// A day by its name.
    Weekday(RelativeWeekday),
    /// From the start of the current unit to now.
    ToDate,
    /// The time up to now, or the unit before the current: what is said with the same words.
    Past,
}

/// What the words that vary said, or the phrase by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PhraseValues {
    pub(super) number: Option<u32>,
    pub(super) unit: Option<CalendarUnit>,
    pub(super) day: Option<Weekday>,
}

impl PhraseSense {
    /// The meaning with everything known; nothing where the phrase leaves something open that it needs.
    fn meaning_with(self, said: PhraseValues) -> Option<Result<ExpressionMeaning, TimeExpressionError>> {
        let number = match (said.number, self) {
            (Some(number @ 1..=When::MAX_NUMBER), _) => i32::try_from(number).ok()?,
            (Some(_), _) => return Some(Err(TimeExpressionError::Number)),
            (None, Self::Ago | Self::Ahead | Self::LastN | Self::NextN) => return None,
            (None, _) => 1,
        };
        let units = |from, count| {
            said.unit.map(|unit| ExpressionMeaning::Span(CalendarSpan::Units { unit, from, count }))
        };
        let meaning = match self {
            Self::One(from) => units(from, 1),
            Self::Ago => units(-number, 1),
            Self::Ahead => units(number, 1),
            Self::LastN => units(-number, number),
            Self::NextN => units(1, number),
            Self::Weekday(which) => {
                said.day.map(|day| ExpressionMeaning::Span(CalendarSpan::Weekday { day, which }))
            }
            Self::ToDate => said.unit.map(ExpressionMeaning::ToDate),
            Self::Past => said.unit.map(ExpressionMeaning::Rolling),
        };
        meaning.map(Ok)
    }
}

/// One step of a phrase.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum PhraseStep {
    /// This word.
    Word(String),
    /// One word of this list.
    OneOf(usize),
    /// A number, in digits or as a word.
    Number,
    /// The name of a unit.
    Unit,
    /// The name of a day.
    Day,
}

/// Words and what they stand for.
pub(super) type WordValues<T> = Vec<(String, T)>;

/// The words that vary.
#[derive(Debug, Default)]
pub(super) struct PhraseVocabulary {
    /// Whether words stand apart by blanks. If not, there are no blanks at all.
    pub(super) spaced: bool,
    pub(super) units: WordValues<CalendarUnit>,
    pub(super) days: WordValues<Weekday>,
    pub(super) numbers: WordValues<u32>,
    pub(super) others: Vec<(String, Vec<String>)>,
}

/// All phrases of a language: those that begin alike share their beginning.
#[derive(Debug, Default)]
pub(super) struct PhraseTree {
    next: Vec<(PhraseStep, PhraseTree)>,
    end: Option<(PhraseSense, PhraseValues)>,
}

impl PhraseTree {
    /// Adds a phrase; false where it is there already and means something else.
    pub(super) fn add(&mut self, steps: Vec<PhraseStep>, sense: PhraseSense, said: PhraseValues) -> bool {
        let mut phrases = self;
        for step in steps {
            let at = phrases.next.iter().position(|(other, _)| *other == step).unwrap_or(phrases.next.len());
            if at == phrases.next.len() {
                phrases.next.push((step, Self::default()));
            }
            let Some((_, below)) = phrases.next.get_mut(at) else { return false };
            phrases = below;
        }
        *phrases.end.get_or_insert((sense, said)) == (sense, said)
    }

    /// What a text means, where the whole of it is one of the phrases.
    pub(super) fn find(
        &self,
        text: &str,
        lists: &PhraseVocabulary,
    ) -> Option<Result<ExpressionMeaning, TimeExpressionError>> {
        self.follow(text, PhraseValues::default(), lists)
    }

    /// No deeper than the longest phrase of the table has words.
    fn follow(
        &self,
        text: &str,
        said: PhraseValues,
        lists: &PhraseVocabulary,
    ) -> Option<Result<ExpressionMeaning, TimeExpressionError>> {
        if text.is_empty() {
            let (sense, known) = self.end?;
            return sense.meaning_with(PhraseValues {
                number: said.number.or(known.number),
                unit: said.unit.or(known.unit),
                day: said.day,
            });
        }
        self.next.iter().find_map(|(step, below)| {
            let go = |rest: &str, said| below.follow(rest, said, lists);
            match step {
                PhraseStep::Word(word) => go(lists.strip_word(text, word)?, said),
                PhraseStep::OneOf(list) => {
                    let (_, words) = lists.others.get(*list)?;
                    words.iter().find_map(|word| go(lists.strip_word(text, word)?, said))
                }
                PhraseStep::Number => {
                    let (digits, number) = digits(text);
                    if !digits.is_empty() {
                        return go(
                            lists.strip_word(text, digits)?,
                            PhraseValues { number: Some(number), ..said },
                        );
                    }
                    lists.numbers.iter().find_map(|(word, number)| {
                        go(lists.strip_word(text, word)?, PhraseValues { number: Some(*number), ..said })
                    })
                }
                PhraseStep::Unit => lists.units.iter().find_map(|(word, unit)| {
                    go(lists.strip_word(text, word)?, PhraseValues { unit: Some(*unit), ..said })
                }),
                PhraseStep::Day => lists.days.iter().find_map(|(word, day)| {
                    go(lists.strip_word(text, word)?, PhraseValues { day: Some(*day), ..said })
                }),
            }
        })
    }
}

impl PhraseVocabulary {
    /// What follows a word at the beginning of a text, where the word ends there.
    fn strip_word<'t>(&self, text: &'t str, word: &str) -> Option<&'t str> {
        let rest = text.strip_prefix(word)?;
        if !self.spaced || rest.is_empty() { Some(rest) } else { rest.strip_prefix(' ') }
    }
}

/// The digits that a text begins with, and their number, or the largest there is.
fn digits(text: &str) -> (&str, u32) {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let digits = text.get(..end).unwrap_or_default();
    (digits, digits.parse().unwrap_or(u32::MAX))
}
