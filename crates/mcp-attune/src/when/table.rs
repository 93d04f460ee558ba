//! The tables of phrases, one file a language, and how they are read.
//!
//! A line is `what it means: phrase, phrase, …`. What it means is said in English; `words/en.txt` says how.

use jiff::civil::Weekday;

use super::phrase::{PhraseSense, PhraseStep, PhraseTree, PhraseValues, PhraseVocabulary};
use super::span::{CalendarUnit, RelativeWeekday};
use super::text::{normalize, transliterate_umlauts};

/// The line of a table whose language writes words without blanks between them.
const WITHOUT_BLANKS: &str = "blanks: none";

/// What is known of a language.
#[derive(Debug, Default)]
pub(super) struct PhraseTable {
    pub(super) lists: PhraseVocabulary,
    pub(super) phrases: PhraseTree,
    pub(super) ranges: Vec<RangePhrase>,
}

/// What stands before, between and after the ends of a range.
#[derive(Debug, PartialEq)]
pub(super) struct RangePhrase {
    pub(super) before: String,
    pub(super) between: String,
    pub(super) after: String,
}

impl PhraseTable {
    /// Reads a table. What cannot be read is left out, and its line is returned; a test sees to it that there is none.
    pub(super) fn read(source: &str) -> (Self, Vec<&str>) {
        let lines =
            || source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let spaced = !lines().any(|line| line == WITHOUT_BLANKS);
        let mut table =
            Self { lists: PhraseVocabulary { spaced, ..PhraseVocabulary::default() }, ..Self::default() };
        let wrong = lines()
            .filter(|line| *line != WITHOUT_BLANKS)
            .filter(|line| table.read_line(line).is_none())
            .collect();
        (table, wrong)
    }

    fn read_line(&mut self, line: &str) -> Option<()> {
        let (key, phrases) = line.split_once(':')?;
        let phrases = phrases.split(',').flat_map(|phrase| variants(phrase.trim()));
        let phrases: Vec<String> =
            phrases.flat_map(|text| [transliterate_umlauts(&text), Some(text)]).flatten().collect();
        let lists = &mut self.lists;
        let words = phrases.iter().map(|word| lists.plain(word)).collect::<Vec<_>>().into_iter();
        if let Some(unit) = unit(key) {
            lists.units.extend(words.map(|word| (word, unit)));
        } else if let Some(day) = weekday(key) {
            lists.days.extend(words.map(|word| (word, day)));
        } else if let Ok(number) = key.parse() {
            lists.numbers.extend(words.map(|word| (word, number)));
        } else if key.len() > 1 && is_name(key) {
            lists.others.push((key.to_owned(), words.collect()));
        } else if key == "A to B" {
            for phrase in phrases {
                self.ranges.push(range(&phrase, self.lists.spaced)?);
            }
        } else {
            let (sense, said) = sense(key)?;
            for phrase in phrases {
                let steps = self.lists.steps(&phrase)?;
                self.phrases.add(steps, sense, said).then_some(())?;
            }
        }
        Some(())
    }
}

impl PhraseVocabulary {
    fn plain(&self, text: &str) -> String {
        if self.spaced { normalize(text) } else { normalize(text).replace(' ', "") }
    }

    /// A phrase word by word. Names in capitals stand for lists.
    fn steps(&self, phrase: &str) -> Option<Vec<PhraseStep>> {
        let mut steps = Vec::new();
        for word in phrase.split_whitespace() {
            let mut rest = word;
            while !rest.is_empty() {
                let (name, behind) = capitals(rest);
                if !name.is_empty() {
                    steps.push(self.list_step(name)?);
                    rest = behind;
                    continue;
                }
                let mut starts = rest.char_indices().map(|(at, _)| at).skip(1);
                let is_name = |at: &usize| rest.get(*at..).is_some_and(|text| !capitals(text).0.is_empty());
                let (text, behind) = rest.split_at_checked(starts.find(is_name).unwrap_or(rest.len()))?;
                // A hyphen or an apostrophe makes two words of one.
                let text = self.plain(text.trim_start_matches('-'));
                steps.extend(
                    text.split(' ')
                        .filter(|word| !word.is_empty())
                        .map(|word| PhraseStep::Word(word.to_owned())),
                );
                rest = behind;
            }
        }
        (!steps.is_empty()).then_some(steps)
    }

    fn list_step(&self, name: &str) -> Option<PhraseStep> {
        match name {
            "N" => Some(PhraseStep::Number),
            "U" => Some(PhraseStep::Unit),
            "W" => Some(PhraseStep::Day),
            _ => self.others.iter().position(|(other, _)| other == name).map(PhraseStep::OneOf),
        }
    }
}

/// The capitals that a text begins with, unless they begin an ordinary word, and what follows.
fn capitals(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_uppercase()).unwrap_or(text.len());
    let (capitals, rest) = text.split_at_checked(end).unwrap_or_default();
    if rest.starts_with(char::is_lowercase) { ("", text) } else { (capitals, rest) }
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// A phrase with and without each part in brackets.
fn variants(phrase: &str) -> Vec<String> {
    let parts = phrase.split_once('[').and_then(|(before, rest)| {
        let (maybe, after) = rest.split_once(']')?;
        Some((before, maybe, after))
    });
    let Some((before, maybe, after)) = parts else { return vec![phrase.to_owned()] };
    let both = variants(after).into_iter();
    both.flat_map(|after| [format!("{before}{maybe}{after}"), format!("{before}{after}")]).collect()
}

/// `von A bis B`. The ends of what stands between keep their blanks, where there are any.
fn range(phrase: &str, spaced: bool) -> Option<RangePhrase> {
    let (before, rest) = phrase.split_once('A')?;
    let (between, after) = rest.split_once('B')?;
    let blank = |text: &str| if spaced && !text.is_empty() { " " } else { "" };
    let [before, between, after] = [before, between, after].map(normalize);
    Some(RangePhrase {
        before: format!("{before}{}", blank(&before)),
        between: format!("{0}{between}{0}", blank(&between)),
        after: format!("{}{after}", blank(&after)),
    })
}

/// What the left side of a line says, in English.
fn sense(key: &str) -> Option<(PhraseSense, PhraseValues)> {
    let words: Vec<&str> = key.split(' ').collect();
    let whole = |from, word| {
        Some((PhraseSense::One(from), PhraseValues { unit: unit_or_open(word)?, ..PhraseValues::default() }))
    };
    let counted = |sense, count: &str, word| {
        let number = if count == "N" { None } else { Some(count.parse().ok()?) };
        Some((sense, PhraseValues { number, unit: unit_or_open(word)?, day: None }))
    };
    match words.as_slice() {
        ["today"] => whole(0, "day"),
        ["yesterday"] => whole(-1, "day"),
        ["tomorrow"] => whole(1, "day"),
        ["day", "before", "yesterday"] => whole(-2, "day"),
        ["day", "after", "tomorrow"] => whole(2, "day"),
        ["W"] | ["this", "W"] => Some((PhraseSense::Weekday(RelativeWeekday::This), PhraseValues::default())),
        ["last", "W"] => Some((PhraseSense::Weekday(RelativeWeekday::Last), PhraseValues::default())),
        ["next", "W"] => Some((PhraseSense::Weekday(RelativeWeekday::Next), PhraseValues::default())),
        ["this", unit] => whole(0, unit),
        ["last", unit] => whole(-1, unit),
        ["next", unit] => whole(1, unit),
        ["past", unit] => {
            Some((PhraseSense::Past, PhraseValues { unit: unit_or_open(unit)?, ..PhraseValues::default() }))
        }
        ["last", count, unit] => counted(PhraseSense::LastN, count, unit),
        ["next", count, unit] => counted(PhraseSense::NextN, count, unit),
        [count, unit, "ago"] => counted(PhraseSense::Ago, count, unit),
        ["in", count, unit] => counted(PhraseSense::Ahead, count, unit),
        [unit, "to", "date"] => {
            Some((PhraseSense::ToDate, PhraseValues { unit: unit_or_open(unit)?, ..PhraseValues::default() }))
        }
        _ => None,
    }
}

/// `U`, which a phrase fills in, or a unit.
fn unit_or_open(word: &str) -> Option<Option<CalendarUnit>> {
    if word == "U" { Some(None) } else { unit(word.strip_suffix('s').unwrap_or(word)).map(Some) }
}

fn unit(word: &str) -> Option<CalendarUnit> {
    Some(match word {
        "day" => CalendarUnit::Day,
        "week" => CalendarUnit::Week,
        "month" => CalendarUnit::Month,
        "quarter" => CalendarUnit::Quarter,
        "year" => CalendarUnit::Year,
        _ => return None,
    })
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_hold_what_may_be_left_out() {
        assert_eq!(variants("[in] [the] last"), ["in the last", " the last", "in  last", "  last"]);
        assert_eq!(variants("plain"), ["plain"]);
    }

    #[test]
    fn a_line_that_means_nothing_is_returned() {
        let lines = "# a note\n\nday: day\nnoon: noon\nlast U: last U\nlast N: x\nthis U: last U\nno key\nlast U: LAST U\nA to B: B or A";
        let (_, wrong) = PhraseTable::read(lines);
        assert_eq!(
            wrong,
            ["noon: noon", "last N: x", "this U: last U", "no key", "last U: LAST U", "A to B: B or A"]
        );
    }

    #[test]
    fn names_in_capitals_stand_for_lists() {
        let (table, wrong) = PhraseTable::read("LAST: past, bygone\nlast N U: LAST N U, N-LAST U");
        assert_eq!(wrong, [""; 0]);
        let step = |text: &str| PhraseStep::Word(text.to_owned());
        assert_eq!(
            table.lists.steps("LAST N-U").unwrap(),
            [PhraseStep::OneOf(0), PhraseStep::Number, PhraseStep::Unit]
        );
        assert_eq!(table.lists.steps("l'altro Ieri").unwrap(), [step("l"), step("altro"), step("ieri")]);
        assert_eq!(
            table.lists.steps("Woche N-mal").unwrap(),
            [step("woche"), PhraseStep::Number, step("mal")]
        );
        let (table, _) = PhraseTable::read("blanks: none\nMONTHS: か月\n");
        assert_eq!(
            table.lists.steps("過去N MONTHS 間").unwrap(),
            [step("過去"), PhraseStep::Number, PhraseStep::OneOf(0), step("間")]
        );
    }

    #[test]
    fn a_range_has_words_around_its_ends() {
        let check = |phrase, spaced, expected: [&str; 3]| {
            let [before, between, after] = expected.map(str::to_owned);
            assert_eq!(range(phrase, spaced), Some(RangePhrase { before, between, after }));
        };
        check("von A bis B", true, ["von ", " bis ", ""]);
        check("AからBまで", false, ["", "から", "まで"]);
        assert_eq!(range("A", true), None);
    }
}
