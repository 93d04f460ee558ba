//! One value as its reader writes it.
//!
//! Whatever could come out wrong is left as it was written: a number that cannot be read exactly, money that would be
//! rounded, a date that is none. Numbers never go through floating point, and keep the digits that they have.

use std::borrow::Cow;

use jiff::Span;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use mcp_attune_wire::json::{JsonKind, JsonString};

use super::block::InlineSpan;
use super::clean;
use super::meaning::{FieldMeaning, FieldUnit};
use super::tree::ValueNode;
use super::words::{PageLabels, PageWord};
use mcp_attune::format::{
    Currency, DecimalNumber, FormatLength, FractionDigits, ListStyle, MeasureUnit, ValueFormatter,
};

/// How long an address may be to be a link.
const MAX_LINK_BYTES: usize = 2048;

/// What is true of the object that a value stands in.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct SiblingContext<'a> {
    /// The currency that it names.
    pub(super) currency: Option<Currency>,
    /// Whether it names a time zone: then its times are those of that zone, and stay so.
    pub(super) zone: bool,
    /// What it calls the columns of the rows beside.
    pub(super) names: Option<ValueNode<'a>>,
}

impl<'a> SiblingContext<'a> {
    /// What an object says, or the one that it stands in.
    pub(super) fn of(object: ValueNode<'a>, above: Self) -> Self {
        let mut beside = above.for_nested();
        for (name, value) in object.members() {
            let text = || value.text().and_then(JsonString::as_plain_str);
            match name.as_written() {
                "columns" | "headers" | "fields" | "column_names" | "columnNames"
                    if value.kind() == JsonKind::Array =>
                {
                    beside.names = Some(value);
                }
                "currency" | "currency_code" | "currencyCode" => {
                    // In small letters the code often stands beside an amount in cents.
                    let code = text().filter(|text| text.bytes().all(|byte| byte.is_ascii_uppercase()));
                    beside.currency = code.map_or(beside.currency, |code| Currency::parse(code).ok());
                }
                "timezone" | "time_zone" | "timeZone" | "tz" => {
                    beside.zone |= text().is_some_and(|text| !text.is_empty());
                }
                _ => {}
            }
        }
        beside
    }

    /// What holds for what is inside, unless it says otherwise.
    pub(super) fn for_nested(self) -> Self {
        Self { currency: self.currency, ..Self::default() }
    }
}

/// Values for one caller.
pub(super) struct PageValueFormatter<'h> {
    format: &'h ValueFormatter,
    /// Whether digits are 0 to 9, so that short numbers are what they are.
    latin: bool,
    words: [Cow<'h, str>; 4],
}

impl<'h> PageValueFormatter<'h> {
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

    pub(super) fn empty<'a>(&self) -> InlineSpan<'a>
    where
        'h: 'a,
    {
        self.word(PageWord::Empty)
    }

    /// How many of something.
    pub(super) fn count(&self, count: usize) -> String {
        let number = DecimalNumber::from(i64::try_from(count).unwrap_or(i64::MAX));
        self.format.number(&number, FractionDigits::default())
    }

    /// A value that is no list and no object.
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

    /// Whether a string is an address, or one that is written anew for each reader: a date, a time or a duration.
    pub(super) fn is_localized(&self, text: &str, sense: FieldMeaning) -> bool {
        let dated =
            self.date_or_datetime(text, SiblingContext::default()).or_else(|| self.time_of_day(text, sense));
        is_link(text) || dated.or_else(|| self.duration(text, None)).is_some()
    }

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
        if text.trim().is_empty() {
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

    fn formatted(
        &self,
        raw: &str,
        integer: bool,
        sense: FieldMeaning,
        beside: SiblingContext<'_>,
    ) -> Option<String> {
        // An exponent is worth writing out only while that is shorter than reading it.
        let plain = match raw.contains(['e', 'E']) {
            true => Some(DecimalNumber::parse(raw).ok()?.to_string()).filter(|text| text.len() <= 24)?,
            false => raw.to_owned(),
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

    /// An amount, with the code behind it where the currency has fewer digits than are written.
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

    /// `2024-09-10`, `2024-09-10T23:37:20Z`, `2024-09-10 23:37`.
    fn date_or_datetime(&self, text: &str, beside: SiblingContext<'_>) -> Option<String> {
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
            let instant = text.parse::<Timestamp>().ok()?;
            return Some(match instant.as_second() % 60 {
                0 => self.format.zoned_to_the_minute(instant, FormatLength::Medium),
                _ => self.format.zoned(instant, FormatLength::Medium),
            });
        }
        let civil = text.parse::<DateTime>().ok()?;
        Some(match civil.second() {
            0 => self.format.date_time_to_the_minute(civil, FormatLength::Medium),
            _ => self.format.date_time(civil, FormatLength::Medium),
        })
    }

    /// `16:30` or `16:30:05` where a time is expected.
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

    /// `PT2H30M`; without the `T` only where the schema says that it is a duration.
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

/// Whether a decimal is between 0 and 1.
fn is_zero_to_one(plain: &str) -> bool {
    match plain.split_once('.') {
        Some(("0", _)) => true,
        Some(("1", fraction)) => fraction.bytes().all(|byte| byte == b'0'),
        _ => false,
    }
}

/// Whether a text is an address that people follow: of the web or of a mailbox, and in no case one that acts.
fn is_link(text: &str) -> bool {
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
        let words = DefaultLabels(locale);
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
}
