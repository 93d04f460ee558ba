//! What the numbers and strings of a field mean, as its name and its schema tell; and only where that
//! is sure.
//!
//! The tables below are mostly English, as the names in most interfaces are. A field whose name they do
//! not cover is [`FieldMeaning::Plain`].
//!
//! 1. Numbers that name and do not count (`id`, `year`, `port`, `zip_code`, `version`, `line`, …) stay
//!    as they are written, in their own digits: they are looked up, typed and copied.
//! 2. Coordinates stay as they are written: with a decimal comma a pair of them would read as four
//!    numbers.
//! 3. `*_percent` is in percent. `*_ratio`, `*_probability` and `*_share` are, where a fraction between
//!    0 and 1 is written.
//! 4. The last word of a name is the unit of the number if it can be nothing else: `wind_kmh`,
//!    `temperature_c`, `size_bytes`. `_ms` is milliseconds only of what takes time, `_m` metres only of
//!    what is measured, and `_min` is left alone.
//! 5. `price_chf` is money. So is `price` where a `currency` stands beside it or above it, but only
//!    with digits behind the point: many interfaces count in cents, and a hundredfold price is worse
//!    than a plain number.

use mcp_attune::format::{Currency, MeasureUnit};

/// The unit of a measured number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum FieldUnit {
    /// A unit that locales write in their own way, such as `km/h`.
    Of(MeasureUnit),
    /// An international symbol that is written the same everywhere, such as `hPa`, behind the number.
    Symbol(&'static str),
}

/// What a field holds, which decides how its values are written.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum FieldMeaning {
    /// Nothing is known. Numbers are grouped, and strings that are dates are formatted.
    #[default]
    Plain,
    /// Something that identifies: `id`, `year`, `port`, `version`. Integers keep their digits, other
    /// numbers are not grouped, and strings are never read as dates.
    Name,
    /// Coordinates and the like, which stay exactly as they are written.
    Written,
    /// A number in percent: 64.5 is `64.5%`.
    Percent,
    /// A share of a whole: a fraction from 0 to 1 is written in percent, anything else as a plain
    /// number.
    Ratio,
    /// A number in a unit that the name of the field ends with.
    Measure(FieldUnit),
    /// An amount in a currency that the name of the field ends with.
    Money(Currency),
    /// An amount that is money if the object names a currency and the number has a fraction.
    Amount,
    /// A time: a string such as `16:30`, or a number such as a Unix timestamp, which is not grouped.
    Time,
    /// Text that is no prose, such as source code or a log: its lines are kept, and it is never read as
    /// a date.
    Code,
}

/// Last words of names of what identifies and does not count, in the singular.
const IDENTIFIER_WORDS: [&str; 47] = [
    "id",
    "year",
    "port",
    "code",
    "zip",
    "plz",
    "postcode",
    "version",
    "number",
    "no",
    "nr",
    "pid",
    "uid",
    "gid",
    "phone",
    "fax",
    "mobile",
    "isbn",
    "issn",
    "ean",
    "gtin",
    "sku",
    "build",
    "revision",
    "line",
    "page",
    "key",
    "serial",
    "reference",
    "ref",
    "hash",
    "seed",
    "room",
    "track",
    "platform",
    "gate",
    "flight",
    "extension",
    "errno",
    "index",
    "mode",
    "permissions",
    "uuid",
    "sha",
    "etag",
    "token",
    "asn",
];
/// Last words of names of coordinates.
const COORDINATE_WORDS: [&str; 11] = [
    "lat",
    "latitude",
    "lon",
    "lng",
    "long",
    "longitude",
    "coordinate",
    "coordinates",
    "coords",
    "bbox",
    "geohash",
];
/// Last words of names of times.
const TIME_WORDS: [&str; 12] = [
    "time",
    "at",
    "timestamp",
    "epoch",
    "ts",
    "departure",
    "arrival",
    "sunrise",
    "sunset",
    "opens",
    "closes",
    "datetime",
];
/// Last words of names of text that is no prose.
const CODE_WORDS: [&str; 19] = [
    "diff",
    "patch",
    "stdout",
    "stderr",
    "log",
    "logs",
    "trace",
    "traceback",
    "stacktrace",
    "stack",
    "snippet",
    "sql",
    "script",
    "yaml",
    "json",
    "xml",
    "html",
    "css",
    "toml",
];
/// Last words of names of amounts that may be money; or first words, with `per` as the second.
const AMOUNT_WORDS: [&str; 23] = [
    "amount", "price", "total", "subtotal", "cost", "fee", "fare", "tax", "vat", "balance", "net", "gross",
    "discount", "salary", "budget", "revenue", "due", "paid", "refund", "deposit", "charge", "value",
    "payment",
];
/// Codes of common currencies, which a name may end with. Those that are English words, such as `all`
/// and `try`, are not among them.
const CURRENCIES: [&str; 22] = [
    "aed", "aud", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "gbp", "hkd", "huf", "inr", "jpy", "krw",
    "mxn", "nok", "nzd", "pln", "sek", "sgd", "usd",
];
/// Words before a unit of time that say that the number is how long something takes.
const DURATION_WORDS: [&str; 15] = [
    "duration", "elapsed", "timeout", "latency", "took", "delay", "uptime", "ttl", "runtime", "interval",
    "age", "time", "ping", "rtt", "length",
];
/// Words before `m` that say that the number is in metres.
const LENGTH_WORDS: [&str; 12] = [
    "elevation",
    "altitude",
    "height",
    "depth",
    "distance",
    "length",
    "width",
    "radius",
    "accuracy",
    "visibility",
    "ascent",
    "descent",
];
/// Words in names that end with `c` or `f` that say that the number is a temperature, beside all words
/// that contain `temp`.
const TEMPERATURE_WORDS: [&str; 7] =
    ["feelslike", "like", "dewpoint", "point", "windchill", "heatindex", "chill"];

/// Last words of names that can only be a unit. A word must stand before them: the field `km` alone is
/// plain.
const UNITS: [(&str, FieldUnit); 38] = {
    use FieldUnit::{Of, Symbol};
    [
        ("celsius", Of(MeasureUnit::Celsius)),
        ("fahrenheit", Of(MeasureUnit::Fahrenheit)),
        ("kmh", Of(MeasureUnit::KilometerPerHour)),
        ("kph", Of(MeasureUnit::KilometerPerHour)),
        ("mph", Of(MeasureUnit::MilePerHour)),
        ("mps", Of(MeasureUnit::MeterPerSecond)),
        ("km", Of(MeasureUnit::Kilometer)),
        ("kilometers", Of(MeasureUnit::Kilometer)),
        ("kilometres", Of(MeasureUnit::Kilometer)),
        ("meters", Of(MeasureUnit::Meter)),
        ("metres", Of(MeasureUnit::Meter)),
        ("cm", Of(MeasureUnit::Centimeter)),
        ("ft", Of(MeasureUnit::Foot)),
        ("miles", Of(MeasureUnit::Mile)),
        ("kg", Of(MeasureUnit::Kilogram)),
        ("grams", Of(MeasureUnit::Gram)),
        ("liters", Of(MeasureUnit::Liter)),
        ("litres", Of(MeasureUnit::Liter)),
        ("bytes", Of(MeasureUnit::Byte)),
        ("kb", Of(MeasureUnit::Kilobyte)),
        ("mb", Of(MeasureUnit::Megabyte)),
        ("gb", Of(MeasureUnit::Gigabyte)),
        ("tb", Of(MeasureUnit::Terabyte)),
        ("mm", Symbol("mm")),
        ("km2", Symbol("km²")),
        ("m2", Symbol("m²")),
        ("sqm", Symbol("m²")),
        ("m3", Symbol("m³")),
        ("hpa", Symbol("hPa")),
        ("kwh", Symbol("kWh")),
        ("mwh", Symbol("MWh")),
        ("kw", Symbol("kW")),
        ("hz", Symbol("Hz")),
        ("khz", Symbol("kHz")),
        ("mhz", Symbol("MHz")),
        ("ghz", Symbol("GHz")),
        ("kcal", Symbol("kcal")),
        ("ppm", Symbol("ppm")),
    ]
};

/// Last words of names that are a unit only behind certain words, which are the third column.
const CONTEXTUAL_UNITS: [(&str, FieldUnit, &[&str]); 10] = {
    use FieldUnit::{Of, Symbol};
    [
        ("ms", Symbol("ms"), &DURATION_WORDS),
        ("milliseconds", Symbol("ms"), &DURATION_WORDS),
        ("millis", Symbol("ms"), &DURATION_WORDS),
        ("s", Of(MeasureUnit::Second), &DURATION_WORDS),
        ("sec", Of(MeasureUnit::Second), &DURATION_WORDS),
        ("secs", Of(MeasureUnit::Second), &DURATION_WORDS),
        ("seconds", Of(MeasureUnit::Second), &DURATION_WORDS),
        ("minutes", Of(MeasureUnit::Minute), &DURATION_WORDS),
        ("hours", Of(MeasureUnit::Hour), &DURATION_WORDS),
        ("m", Of(MeasureUnit::Meter), &LENGTH_WORDS),
    ]
};

/// Returns whether a word is in a list, whatever its case.
fn is_one_of(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// Returns whether a word or its singular is in a list, so that `ids` is `id`.
fn is_one_of_or_plural(word: &str, list: &[&str]) -> bool {
    is_one_of(word, list) || word.strip_suffix('s').is_some_and(|one| is_one_of(one, list))
}

impl FieldMeaning {
    /// Returns what a field holds, from the words of its name and the `format` of its schema, and how
    /// many words at the end of the name are a unit. The label leaves these words out, because the
    /// value shows the unit.
    ///
    /// The `format` decides where it is a percentage or a time of day. Otherwise the last word does;
    /// the first rule that matches holds.
    pub(super) fn detect(words: &[&str], format: Option<&str>) -> (Self, usize) {
        match format {
            Some("percent" | "percentage") => return (Self::Percent, 0),
            Some("time") => return (Self::Time, 0),
            _ => {}
        }
        let (Some((last, stem)), Some(first)) = (words.split_last(), words.first()) else {
            return (Self::Plain, 0);
        };
        if let Some(found) = stem.split_last().and_then(|(before, _)| Self::detect_unit(before, last, stem)) {
            return (found, 1);
        }
        if is_one_of(last, &["percent", "pct"]) {
            return (Self::Percent, usize::from(!stem.is_empty()));
        }
        let is_amount_per =
            || is_one_of(first, &AMOUNT_WORDS) && words.get(1).is_some_and(|word| is_one_of(word, &["per"]));
        let sense = if is_one_of(last, &["percentage"]) {
            Self::Percent
        } else if is_one_of(last, &["ratio", "probability", "share"]) && !is_one_of(first, &["aspect"]) {
            Self::Ratio
        } else if is_one_of(last, &CODE_WORDS) {
            Self::Code
        } else if is_one_of_or_plural(last, &IDENTIFIER_WORDS) {
            Self::Name
        } else if is_one_of(last, &COORDINATE_WORDS) {
            Self::Written
        } else if is_one_of(last, &TIME_WORDS) {
            Self::Time
        } else if is_one_of(last, &AMOUNT_WORDS) || is_amount_per() {
            Self::Amount
        } else {
            Self::Plain
        };
        (sense, 0)
    }

    /// Returns the measure or the currency that the last word of a name stands for, given the word
    /// before it and all words before it. `None` if it is no unit there.
    fn detect_unit(before: &str, last: &str, stem: &[&str]) -> Option<Self> {
        let warm = || {
            stem.iter().any(|word| {
                word.len() >= 4 && word.to_ascii_lowercase().contains("temp")
                    || is_one_of(word, &TEMPERATURE_WORDS)
            })
        };
        if is_one_of(last, &["c"]) && warm() {
            return Some(Self::Measure(FieldUnit::Of(MeasureUnit::Celsius)));
        }
        if is_one_of(last, &["f"]) && warm() {
            return Some(Self::Measure(FieldUnit::Of(MeasureUnit::Fahrenheit)));
        }
        if is_one_of(last, &CURRENCIES) {
            return Currency::parse(last).ok().map(Self::Money);
        }
        // Millibars are no megabytes.
        if is_one_of(before, &["pressure"]) && is_one_of(last, &["mb"]) {
            return None;
        }
        let alone = UNITS.iter().find(|(word, _)| last.eq_ignore_ascii_case(word)).map(|(_, unit)| *unit);
        let fits = |(word, _, of): &&(&str, FieldUnit, &[&str])| {
            last.eq_ignore_ascii_case(word) && is_one_of(before, of)
        };
        alone.or_else(|| CONTEXTUAL_UNITS.iter().find(fits).map(|(_, unit, _)| *unit)).map(Self::Measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::name::split_words;
    use super::*;

    fn check(name: &str, sense: FieldMeaning, taken: usize) {
        assert_eq!(FieldMeaning::detect(&split_words(name), None), (sense, taken), "{name}");
    }

    #[test]
    fn names_say_what_numbers_mean() {
        let unit = |unit| FieldMeaning::Measure(FieldUnit::Of(unit));
        let symbol = |symbol| FieldMeaning::Measure(FieldUnit::Symbol(symbol));
        check("temperature_c", unit(MeasureUnit::Celsius), 1);
        check("feelslike_f", unit(MeasureUnit::Fahrenheit), 1);
        check("tempC", unit(MeasureUnit::Celsius), 1);
        check("wind_kmh", unit(MeasureUnit::KilometerPerHour), 1);
        check("sizeBytes", unit(MeasureUnit::Byte), 1);
        check("elevation_m", unit(MeasureUnit::Meter), 1);
        check("duration_ms", symbol("ms"), 1);
        check("durationSeconds", unit(MeasureUnit::Second), 1);
        check("area_km2", symbol("km²"), 1);
        check("humidity_percent", FieldMeaning::Percent, 1);
        check("percent", FieldMeaning::Percent, 0);
        check("win_probability", FieldMeaning::Ratio, 0);
        check("price_chf", FieldMeaning::Money(Currency::parse("CHF").unwrap()), 1);
        check("total_price", FieldMeaning::Amount, 0);
        check("price_per_night", FieldMeaning::Amount, 0);
        for name in
            ["id", "userId", "order_ids", "year", "zip_code", "protocolVersion", "invoice_number", "port"]
        {
            check(name, FieldMeaning::Name, 0);
        }
        check("coordinates", FieldMeaning::Written, 0);
        check("created_at", FieldMeaning::Time, 0);
        check("stderr", FieldMeaning::Code, 0);
    }

    #[test]
    fn what_is_not_sure_is_plain() {
        for name in [
            "temperature",
            "wind_ms",
            "duration_min",
            "grade_c",
            "pressure_mb",
            "km",
            "usd",
            "working_hours",
            "room_m",
            "population",
            "aspect_ratio",
            "total_items",
            "c",
        ] {
            check(name, FieldMeaning::Plain, 0);
        }
    }
}
