//! Formats one scalar value for its reader: numbers, dates, times, durations, money and links.
//!
//! Whatever could come out wrong is left as it was written: a number that cannot be read exactly, money
//! that would be rounded, a date that does not exist. Numbers never go through floating point and are
//! never rounded; a measure may lose zeros at the end of its fraction.

use std::borrow::Cow;

use jiff::Span;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use mcp_attune_wire::json::{JsonKind, JsonString};

use super::block::InlineSpan;
use super::clean;
use super::meaning::{FieldMeaning, FieldUnit};
use super::tree::ValueNode;
use super::words::{PageLabels, PageWord};
use mcp_attune::format::{
    Currency, DecimalNumber, FormatLength, FractionDigits, ListStyle, MeasureUnit, ValueFormatter,
};

/// The longest address that becomes a link, in bytes. Longer ones are written as text.
const MAX_LINK_BYTES: usize = 2048;

/// What the object around a value says that changes how the value is written.
///
/// A `price` is money only if a `currency` stands beside or above it, and times are not converted to
/// the caller's zone where the object names its own.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct SiblingContext<'a> {
    /// The currency of amounts, from `currency`, `currency_code` or `currencyCode` in capitals. Nested
    /// objects inherit it unless they name their own.
    pub(super) currency: Option<Currency>,
    /// Whether the object names a time zone (`timezone`, `time_zone`, `timeZone` or `tz`). Its times
    /// with an offset are then shown as written and not converted; those in UTC still are. Not
    /// inherited.
    pub(super) zone: bool,
    /// A list beside the value that may name the columns of a matrix: `columns`, `headers`, `fields`,
    /// `column_names` or `columnNames`. Not inherited.
    pub(super) names: Option<ValueNode<'a>>,
}

/// What a member says of the values beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SiblingRole {
    Currency,
    TimeZone,
    ColumnNames,
}

impl SiblingRole {
    /// Returns the role of a member by its name; `None` for most.
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "currency" | "currency_code" | "currencyCode" => Self::Currency,
            "timezone" | "time_zone" | "timeZone" | "tz" => Self::TimeZone,
            "columns" | "headers" | "fields" | "column_names" | "columnNames" => Self::ColumnNames,
            _ => return None,
        })
    }
}

impl<'a> SiblingContext<'a> {
    /// Returns whether a member of this name can say something of the values beside it. Where none of an
    /// object's members can, its context is what the object inherits.
    pub(super) fn is_told_by(name: &str) -> bool {
        SiblingRole::of(name).is_some()
    }

    /// Reads the context from the members of an object. `above` is the context of the object around it,
    /// whose currency holds if this one names none.
    pub(super) fn of(object: ValueNode<'a>, above: Self) -> Self {
        let mut beside = above.for_nested();
        for (name, value) in object.members() {
            let text = || value.text().and_then(JsonString::as_plain_str);
            match SiblingRole::of(name.as_written()) {
                Some(SiblingRole::ColumnNames) if value.kind() == JsonKind::Array => {
                    beside.names = Some(value);
                }
                Some(SiblingRole::Currency) => {
                    // In small letters the code often stands beside an amount in cents.
                    let code = text().filter(|text| text.bytes().all(|byte| byte.is_ascii_uppercase()));
                    beside.currency = code.map_or(beside.currency, |code| Currency::parse(code).ok());
                }
                Some(SiblingRole::TimeZone) => beside.zone |= text().is_some_and(|text| !text.is_empty()),
                Some(SiblingRole::ColumnNames) | None => {}
            }
        }
        beside
    }

    /// Returns what objects inside inherit: the currency, and nothing else.
    pub(super) fn for_nested(self) -> Self {
        Self { currency: self.currency, ..Self::default() }
    }
}

/// Formats scalar values for one caller. Made once for each page, because it looks a few words up.
pub(super) struct PageValueFormatter<'h> {
    /// The locale and the time zone of the caller.
    format: &'h ValueFormatter,
    /// Whether the locale writes the digits 0 to 9. Integers of up to three digits then need no
    /// formatting, which is the common case.
    latin: bool,
    /// The words for `true`, `false`, `null` and what is empty, in this order.
    words: [Cow<'h, str>; 4],
}

impl<'h> PageValueFormatter<'h> {
    /// Prepares the formatter: looks the words up, and tries which digits the locale has.
    pub(super) fn new(format: &'h ValueFormatter, labels: &'h dyn PageLabels) -> Self {
        let latin = format.number(&DecimalNumber::from(7), FractionDigits::default()) == "7";
        let words =
            [PageWord::Yes, PageWord::No, PageWord::None, PageWord::Empty].map(|word| labels.word(word));
        Self { format, latin, words }
    }

    fn word<'a>(&self, word: PageWord) -> InlineSpan<'a>
    where
        'h: 'a,
    {
        let [yes, no, none, empty] = &self.words;
        InlineSpan::Text(
            match word {
                PageWord::Yes => yes,
                PageWord::No => no,
                PageWord::None => none,
                PageWord::Empty | PageWord::NotShown => empty,
            }
            .clone(),
        )
    }

    /// Returns the word that stands for an empty string, list or object.
    pub(super) fn empty<'a>(&self) -> InlineSpan<'a>
    where
        'h: 'a,
    {
        self.word(PageWord::Empty)
    }

    /// Formats a count, such as the number of a record or of values that had no room.
    pub(super) fn count(&self, count: usize) -> String {
        let number = DecimalNumber::from(i64::try_from(count).unwrap_or(i64::MAX));
        self.format.number(&number, FractionDigits::default())
    }

    /// Formats a value that is neither a list nor an object.
    ///
    /// `sense` is what the name of its field says of it, `format` the keyword of its schema, and
    /// `beside` the object around it. Text is borrowed from the data where it stays as it is.
    pub(super) fn scalar<'a>(
        &self,
        value: ValueNode<'a>,
        sense: FieldMeaning,
        format: Option<&str>,
        beside: SiblingContext<'_>,
    ) -> InlineSpan<'a>
    where
        'h: 'a,
    {
        match value.kind() {
            JsonKind::Null => self.word(PageWord::None),
            JsonKind::Boolean => self.word(if value.is_true() { PageWord::Yes } else { PageWord::No }),
            JsonKind::Number => {
                InlineSpan::Text(self.number(value.number().unwrap_or_default(), sense, beside))
            }
            _ => match value.text() {
                Some(text) => self.string(clean::read(text), sense, format, beside),
                None => self.empty(),
            },
        }
    }

    /// Returns whether a string becomes a link, or is formatted anew for each reader as a date, a time
    /// or a duration. There is nothing to translate in such a string.
    pub(super) fn is_localized(&self, text: &str, sense: FieldMeaning) -> bool {
        let dated =
            self.date_or_datetime(text, SiblingContext::default()).or_else(|| self.time_of_day(text, sense));
        is_link(text) || dated.or_else(|| self.duration(text, None)).is_some()
    }

    /// Formats a string. Blank ones become the word for empty, and addresses links. Dates, times and
    /// durations are formatted, unless the field holds an identifier, coordinates or code.
    fn string<'a>(
        &self,
        text: Cow<'a, str>,
        sense: FieldMeaning,
        format: Option<&str>,
        beside: SiblingContext<'_>,
    ) -> InlineSpan<'a>
    where
        'h: 'a,
    {
        if text.trim_start().is_empty() {
            return self.empty();
        }
        if is_link(&text) {
            return InlineSpan::Link(text);
        }
        let told = match sense {
            FieldMeaning::Name | FieldMeaning::Written | FieldMeaning::Code => None,
            _ => self
                .date_or_datetime(&text, beside)
                .or_else(|| self.time_of_day(&text, sense))
                .or_else(|| self.duration(&text, format)),
        };
        InlineSpan::Text(told.map_or(text, Cow::Owned))
    }

    /// Formats a number, or returns it as it is written where formatting would change or break it.
    /// Numbers that identify something are looked up, typed and copied, so they keep the digits of the
    /// server.
    fn number<'a>(&self, raw: &'a str, sense: FieldMeaning, beside: SiblingContext<'_>) -> Cow<'a, str> {
        let digits = raw.bytes().all(|byte| byte.is_ascii_digit());
        let short = self.latin
            && digits
            && raw.len() <= 3
            && matches!(sense, FieldMeaning::Plain | FieldMeaning::Amount);
        // What names is looked up, typed and copied: it has the digits that it is written with.
        let named = digits && matches!(sense, FieldMeaning::Name | FieldMeaning::Time);
        if short || named || sense == FieldMeaning::Written {
            return Cow::Borrowed(raw);
        }
        self.formatted(raw, digits, sense, beside).map_or(Cow::Borrowed(raw), Cow::Owned)
    }

    /// Formats a number by the meaning of its field, with as many fraction digits as are written.
    /// `integer` is whether it consists of digits only.
    ///
    /// Returns `None`, and so leaves the number as it is written, if it cannot be parsed as a
    /// [`DecimalNumber`], has more than [`FractionDigits::MAX_COUNT`] fraction digits, or has an
    /// exponent and would be longer than 24 characters without it. A [`FieldUnit::Of`] with more than
    /// three fraction digits is written without its unit, because measures are rounded to three.
    fn formatted(
        &self,
        raw: &str,
        integer: bool,
        sense: FieldMeaning,
        beside: SiblingContext<'_>,
    ) -> Option<String> {
        // An exponent is worth writing out only while that is shorter than reading it.
        let plain = match raw.bytes().any(|byte| matches!(byte, b'e' | b'E')) {
            true => {
                Cow::Owned(Some(DecimalNumber::parse(raw).ok()?.to_string()).filter(|text| text.len() <= 24)?)
            }
            false => Cow::Borrowed(raw),
        };
        let places = plain.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let digits = |places| {
            u8::try_from(places)
                .ok()
                .filter(|places| *places <= FractionDigits::MAX_COUNT)
                .map(FractionDigits::exactly)
        };
        let number = DecimalNumber::parse(&plain).ok()?;
        Some(match sense {
            FieldMeaning::Percent => {
                self.format.percent(&DecimalNumber::parse(&format!("{plain}e-2")).ok()?, digits(places)?)
            }
            FieldMeaning::Ratio if !integer && is_zero_to_one(&plain) => {
                self.format.percent(&number, digits(places.saturating_sub(2))?)
            }
            FieldMeaning::Measure(FieldUnit::Of(unit)) if places <= 3 => {
                self.format.unit(&number, unit, FormatLength::Medium)
            }
            FieldMeaning::Measure(FieldUnit::Symbol(symbol)) => {
                format!("{}\u{a0}{symbol}", self.format.number(&number, digits(places)?))
            }
            FieldMeaning::Money(currency) => self.money(&number, &plain, currency, digits(places)?),
            FieldMeaning::Amount if places > 0 => match beside.currency {
                Some(currency) => self.money(&number, &plain, currency, digits(places)?),
                None => self.format.number(&number, digits(places)?),
            },
            FieldMeaning::Name | FieldMeaning::Time => self.format.ungrouped(&number, digits(places)?),
            _ => self.format.number(&number, digits(places)?),
        })
    }

    /// Formats an amount of money. If the currency has fewer fraction digits than the amount needs, the
    /// amount is written as a plain number with the code behind it (`10.999 USD`), so that nothing is
    /// rounded.
    fn money(
        &self,
        number: &DecimalNumber,
        plain: &str,
        currency: Currency,
        digits: FractionDigits,
    ) -> String {
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let money = self.format.currency(number, currency);
        let shown = money.chars().filter(|char| char.is_numeric()).count();
        let whole = whole.bytes().filter(u8::is_ascii_digit).count();
        if shown.saturating_sub(whole) >= fraction.trim_end_matches('0').len() {
            return money;
        }
        format!("{}\u{a0}{currency}", self.format.number(number, digits))
    }

    /// Formats a date or a date with a time: `2024-09-10`, `2024-09-10T23:37:20Z`, `2024-09-10 23:37`.
    /// Returns `None` if the text is neither.
    ///
    /// An instant, which has `Z` or an offset, is converted to the caller's zone, unless it has an
    /// offset and the object around it names a zone. A time without either is shown as it is. Seconds
    /// are left out where they are zero.
    fn date_or_datetime(&self, text: &str, beside: SiblingContext<'_>) -> Option<String> {
        if let Some(instant) = utc_instant(text) {
            return Some(self.instant(instant));
        }
        let bytes = text.as_bytes();
        let shaped = bytes.len() >= 10
            && bytes.iter().take(10).enumerate().all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        if !shaped {
            return None;
        }
        let Some(after) = bytes.get(10) else {
            return text.parse::<Date>().ok().map(|date| self.format.date(date, FormatLength::Medium));
        };
        // A minute at least, and no zone in brackets.
        if !matches!(after, b'T' | b't' | b' ') || !(16..=40).contains(&bytes.len()) || text.contains('[') {
            return None;
        }
        let fixed = bytes.iter().skip(16).any(|byte| matches!(byte, b'Z' | b'z' | b'+' | b'-'));
        let utc = text.ends_with(['Z', 'z']);
        if fixed && (utc || !beside.zone) {
            return text.parse::<Timestamp>().ok().map(|instant| self.instant(instant));
        }
        let civil = text.parse::<DateTime>().ok()?;
        Some(match civil.second() {
            0 => self.format.date_time_to_the_minute(civil, FormatLength::Medium),
            _ => self.format.date_time(civil, FormatLength::Medium),
        })
    }

    fn instant(&self, instant: Timestamp) -> String {
        match instant.as_second() % 60 {
            0 => self.format.zoned_to_the_minute(instant, FormatLength::Medium),
            _ => self.format.zoned(instant, FormatLength::Medium),
        }
    }

    /// Formats `16:30` or `16:30:05`. Returns `None` unless the name of the field says that it is a
    /// time: it could as well be a score.
    fn time_of_day(&self, text: &str, sense: FieldMeaning) -> Option<String> {
        let shaped = sense == FieldMeaning::Time
            && matches!(text.len(), 5 | 8)
            && text.bytes().enumerate().all(|(at, byte)| match at {
                2 | 5 => byte == b':',
                _ => byte.is_ascii_digit(),
            });
        // Reading what is no time costs most where it fails.
        let time = shaped.then(|| text.parse::<Time>().ok()).flatten()?;
        Some(
            self.format
                .time(time, if time.second() == 0 { FormatLength::Short } else { FormatLength::Medium }),
        )
    }

    /// Formats an ISO 8601 duration such as `PT2H30M` as `2 hr, 30 min`. One that does not begin with
    /// `PT` counts only if its schema has the format `duration`.
    ///
    /// Returns `None` for anything else, and for durations that are zero, negative, or have fractions
    /// of a second.
    fn duration(&self, text: &str, format: Option<&str>) -> Option<String> {
        let sure = text.starts_with("PT") || format == Some("duration") && text.starts_with('P');
        if !sure || text.len() > 40 {
            return None;
        }
        let span = text.parse::<Span>().ok().filter(|span| span.signum() > 0)?;
        if (span.get_milliseconds(), span.get_microseconds(), span.get_nanoseconds()) != (0, 0, 0) {
            return None;
        }
        let parts = [
            (i64::from(span.get_years()), MeasureUnit::Year),
            (i64::from(span.get_months()), MeasureUnit::Month),
            (i64::from(span.get_weeks()), MeasureUnit::Week),
            (i64::from(span.get_days()), MeasureUnit::Day),
            (i64::from(span.get_hours()), MeasureUnit::Hour),
            (span.get_minutes(), MeasureUnit::Minute),
            (span.get_seconds(), MeasureUnit::Second),
        ];
        let there = parts.into_iter().filter(|(count, _)| *count != 0);
        let told: Vec<_> = there
            .map(|(count, unit)| self.format.unit(&DecimalNumber::from(count), unit, FormatLength::Medium))
            .collect();
        let told: Vec<_> = told.iter().map(String::as_str).collect();
        Some(self.format.list(&told, ListStyle::Unit))
    }
}

/// Reads an instant in the one form that most servers write, `2024-09-10T23:37:20Z`. Returns `None` for all
/// other texts, which are read by jiff: its parser of all forms takes six times as long.
fn utc_instant(text: &str) -> Option<Timestamp> {
    let &[y, yy, yyy, yyyy, b'-', m, mm, b'-', d, dd, b'T', h, hh, b':', n, nn, b':', s, ss, b'Z'] =
        text.as_bytes()
    else {
        return None;
    };
    let two = |tens: u8, ones: u8| {
        let digits = tens.is_ascii_digit() && ones.is_ascii_digit();
        digits.then(|| i8::try_from((tens - b'0') * 10 + (ones - b'0')).ok()).flatten()
    };
    let year = i16::from(two(y, yy)?) * 100 + i16::from(two(yyy, yyyy)?);
    let (month, day) = (two(m, mm)?, two(d, dd)?);
    let civil = DateTime::new(year, month, day, two(h, hh)?, two(n, nn)?, two(s, ss)?, 0).ok()?;
    Offset::UTC.to_timestamp(civil).ok()
}

/// Returns whether a decimal with a point in it is at least 0 and at most 1.
fn is_zero_to_one(plain: &str) -> bool {
    match plain.split_once('.') {
        Some(("0", _)) => true,
        Some(("1", fraction)) => fraction.bytes().all(|byte| byte == b'0'),
        _ => false,
    }
}

/// Returns whether a text as a whole is a web or mail address that may become a link.
///
/// Only `https://`, `http://` and `mailto:` in small letters count, so that no address runs a script.
/// Addresses with white space, control characters, or characters that would end the link in Markdown
/// are text.
fn is_link(text: &str) -> bool {
    // Most texts are told apart here.
    if !text.starts_with(['h', 'm']) {
        return false;
    }
    let rest = ["https://", "http://", "mailto:"].iter().find_map(|scheme| text.strip_prefix(scheme));
    let odd = |char: char| {
        char.is_whitespace() || char.is_control() || matches!(char, '<' | '>' | '|' | '\\' | '`')
    };
    rest.is_some_and(|rest| !rest.is_empty()) && text.len() <= MAX_LINK_BYTES && !text.contains(odd)
}

#[cfg(test)]
mod tests {
    use super::super::name::split_words;
    use super::super::tree::ValueTree;
    use super::super::words::DefaultLabels;
    use super::*;
    use jiff::tz::TimeZone;
    use mcp_attune::language::Tag;
    use mcp_attune_wire::message::Message;

    /// The field `name` of an object, for somebody in Zurich who reads this locale.
    #[track_caller]
    fn check(locale: &str, name: &str, object: &str, expected: &str) {
        let zone = TimeZone::get("Europe/Zurich").unwrap();
        let format = mcp_attune_format::formatters(&Tag::parse(locale).unwrap()).for_locales([], zone);
        let message = Message::parse(object.as_bytes()).unwrap();
        let (sense, _) = FieldMeaning::detect(&split_words(name), None);
        let tree = ValueTree::of(message.body());
        let beside = SiblingContext::of(tree.root(), SiblingContext::default());
        let value = tree.root().member(name).unwrap();
        let words = DefaultLabels::new(locale);
        let values = PageValueFormatter::new(&format, &words);
        let shown = values.scalar(value, sense, None, beside);
        assert_eq!(shown.as_str(), expected, "{locale} {object}");
    }

    #[test]
    fn numbers_are_exact_and_grouped_where_they_count() {
        check("de-CH", "count", r#"{"count":12345678901234567890.50}"#, "12'345'678'901'234'567'890.50");
        check("fr", "count", r#"{"count":-1234.5}"#, "-1\u{202f}234,5");
        check("en", "count", r#"{"count":1.5e3}"#, "1,500");
        check("en", "count", r#"{"count":1e300}"#, "1e300");
        check("en", "count", r#"{"count":0.30000000000000004}"#, "0.30000000000000004");
        check("en", "year", r#"{"year":2026}"#, "2026");
        check("ar-EG", "year", r#"{"year":2026}"#, "2026");
        check("ar-EG", "count", r#"{"count":7}"#, "٧");
        check("de", "lat", r#"{"lat":46.948}"#, "46.948");
        check("de", "humidity_percent", r#"{"humidity_percent":64.5}"#, "64,5\u{a0}%");
        check("en", "win_ratio", r#"{"win_ratio":0.125}"#, "12.5%");
        check("en", "win_ratio", r#"{"win_ratio":1.25}"#, "1.25");
        check("en", "win_ratio", r#"{"win_ratio":1}"#, "1");
        check("en", "size_bytes", r#"{"size_bytes":1048576}"#, "1,048,576\u{a0}B");
    }

    #[test]
    fn money_is_money_only_where_that_is_sure() {
        check("de-CH", "price", r#"{"price":1234.5,"currency":"EUR"}"#, "€\u{a0}1'234.50");
        check("en", "price", r#"{"price":1099,"currency":"USD"}"#, "1,099");
        check("en", "price", r#"{"price":10.99,"currency":"usd"}"#, "10.99");
        check("en", "price", r#"{"price":10.999,"currency":"USD"}"#, "10.999\u{a0}USD");
        check("en", "price", r#"{"price":10.50,"currency":"JPY"}"#, "10.50\u{a0}JPY");
        check("en", "price_usd", r#"{"price_usd":1099}"#, "$1,099.00");
        check("en", "price", r#"{"price":10.99}"#, "10.99");
        check("en", "weight", r#"{"weight":10.99,"currency":"USD"}"#, "10.99");
    }

    #[test]
    fn times_are_those_of_the_reader_or_of_the_zone_beside_them() {
        check("de-CH", "x", r#"{"x":"2026-07-01"}"#, "01.07.2026");
        check("de-CH", "x", r#"{"x":"2026-07-01T08:00:00Z"}"#, "01.07.2026, 10:00 MESZ");
        check("de-CH", "x", r#"{"x":"2026-07-01T08:00:05+09:00"}"#, "01.07.2026, 01:00:05 MESZ");
        check(
            "de-CH",
            "x",
            r#"{"x":"2026-07-01T08:00:00+09:00","timezone":"Asia/Tokyo"}"#,
            "01.07.2026, 08:00",
        );
        check("de-CH", "x", r#"{"x":"2026-07-01 08:00"}"#, "01.07.2026, 08:00");
        check("en-US", "start_time", r#"{"start_time":"16:30"}"#, "4:30\u{202f}PM");
        check("en-US", "score", r#"{"score":"16:30"}"#, "16:30");
        check("en", "x", r#"{"x":"PT2H30M"}"#, "2 hr, 30 min");
        for text in
            ["2026-13-01", "2026-07-01T25:00:00Z", "2026-07-01x", "P1D", "PTA", "2026-07-01T08:00:00Z[UTC]"]
        {
            check("en", "x", &format!(r#"{{"x":"{text}"}}"#), text);
        }
        check("en", "version", r#"{"version":"2026-07-01"}"#, "2026-07-01");
    }

    #[test]
    fn only_addresses_that_people_follow_are_links() {
        for (text, expected) in [
            ("https://a.example/b_c?d=1&e", true),
            ("mailto:a@b.example", true),
            ("javascript:alert(1)", false),
            ("data:text/html,x", false),
            ("HTTPS://a.example", false),
            ("https://", false),
            ("https://a b", false),
            ("https://a>b", false),
            ("see https://a.example", false),
        ] {
            assert_eq!(is_link(text), expected, "{text}");
        }
    }

    #[test]
    fn an_instant_in_the_usual_form_is_the_one_that_jiff_reads() {
        for text in
            ["2024-02-29T23:59:59Z", "0000-01-01T00:00:00Z", "9999-12-30T22:00:00Z", "1969-12-31T23:59:59Z"]
        {
            assert_eq!(utc_instant(text), Some(text.parse().unwrap()), "{text}");
        }
        for text in [
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01t00:00:00Z",
            "2024-01-01T00:00:00+01:00",
            "2024-01-01T00:00:00.5Z",
            "2024-01-01T00:00Z",
            "/024-01-01T00:00:00Z",
            "2024-01-01T00:00:0:Z",
        ] {
            assert_eq!(utc_instant(text), None, "{text}");
        }
        // What it leaves is read all the same.
        check("en", "at", r#"{"at":"2024-01-01T00:00:60Z"}"#, "Jan 1, 2024, 1:00:59\u{202f}AM GMT+1");
    }
}
