//! What the numbers and times in a field mean, told from its name and its schema; and only where that is sure.
//!
//! 1. Numbers that name and do not count (`id`, `year`, `port`, `zip_code`, `version`, `line`, …) stay as they are
//!    written, in their own digits: they are looked up, typed and copied.
//! 2. Coordinates stay as they are written: with a decimal comma a pair of them would read as four numbers.
//! 3. `*_percent` is in percent. `*_ratio`, `*_probability` and `*_share` are, where a fraction between 0 and 1 is written.
//! 4. The last word of a name is the unit of the number if it can be nothing else: `wind_kmh`, `temperature_c`, `size_bytes`.
//!    `_ms` is milliseconds only of what takes time, `_m` metres only of what is measured, and `_min` is left alone.
//! 5. `price_chf` is money. So is `price` where a `currency` stands beside it or above it, but only with digits behind the
//!    point: many interfaces count in cents, and a hundredfold price is worse than a plain number.

use mcp_attune::format::{Currency, Unit};

/// How a number is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Measure {
    Of(Unit),
    /// An international symbol, written the same everywhere.
    Symbol(&'static str),
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) enum Sense {
    #[default]
    Plain,
    /// A number that names: digits only, and a string that is no date.
    Name,
    /// As it is written.
    Written,
    Percent,
    Ratio,
    Measure(Measure),
    Money(Currency),
    /// Money, if the currency is known.
    Amount,
    /// A time: a number that is not counted, or `16:30`.
    Time,
    /// Lines that are no prose.
    Code,
}

const NAMES: [&str; 47] = [
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
const WRITTEN: [&str; 11] = [
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
const TIMES: [&str; 12] = [
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
const CODE: [&str; 19] = [
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
const AMOUNTS: [&str; 23] = [
    "amount", "price", "total", "subtotal", "cost", "fee", "fare", "tax", "vat", "balance", "net", "gross",
    "discount", "salary", "budget", "revenue", "due", "paid", "refund", "deposit", "charge", "value",
    "payment",
];
const CURRENCIES: [&str; 22] = [
    "aed", "aud", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "gbp", "hkd", "huf", "inr", "jpy", "krw",
    "mxn", "nok", "nzd", "pln", "sek", "sgd", "usd",
];
/// What takes time.
const LASTING: [&str; 15] = [
    "duration", "elapsed", "timeout", "latency", "took", "delay", "uptime", "ttl", "runtime", "interval",
    "age", "time", "ping", "rtt", "length",
];
/// What is measured in metres.
const LONG: [&str; 12] = [
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
/// What is warm or cold, beside all that has `temp` in its name.
const WARM: [&str; 7] = ["feelslike", "like", "dewpoint", "point", "windchill", "heatindex", "chill"];

/// Units that their word alone says.
const UNITS: [(&str, Measure); 38] = {
    use Measure::{Of, Symbol};
    [
        ("celsius", Of(Unit::Celsius)),
        ("fahrenheit", Of(Unit::Fahrenheit)),
        ("kmh", Of(Unit::KilometerPerHour)),
        ("kph", Of(Unit::KilometerPerHour)),
        ("mph", Of(Unit::MilePerHour)),
        ("mps", Of(Unit::MeterPerSecond)),
        ("km", Of(Unit::Kilometer)),
        ("kilometers", Of(Unit::Kilometer)),
        ("kilometres", Of(Unit::Kilometer)),
        ("meters", Of(Unit::Meter)),
        ("metres", Of(Unit::Meter)),
        ("cm", Of(Unit::Centimeter)),
        ("ft", Of(Unit::Foot)),
        ("miles", Of(Unit::Mile)),
        ("kg", Of(Unit::Kilogram)),
        ("grams", Of(Unit::Gram)),
        ("liters", Of(Unit::Liter)),
        ("litres", Of(Unit::Liter)),
        ("bytes", Of(Unit::Byte)),
        ("kb", Of(Unit::Kilobyte)),
        ("mb", Of(Unit::Megabyte)),
        ("gb", Of(Unit::Gigabyte)),
        ("tb", Of(Unit::Terabyte)),
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

/// Units that only go with certain words before them.
const UNITS_OF: [(&str, Measure, &[&str]); 10] = {
    use Measure::{Of, Symbol};
    [
        ("ms", Symbol("ms"), &LASTING),
        ("milliseconds", Symbol("ms"), &LASTING),
        ("millis", Symbol("ms"), &LASTING),
        ("s", Of(Unit::Second), &LASTING),
        ("sec", Of(Unit::Second), &LASTING),
        ("secs", Of(Unit::Second), &LASTING),
        ("seconds", Of(Unit::Second), &LASTING),
        ("minutes", Of(Unit::Minute), &LASTING),
        ("hours", Of(Unit::Hour), &LASTING),
        ("m", Of(Unit::Meter), &LONG),
    ]
};

fn among(word: &str, list: &[&str]) -> bool {
    list.iter().any(|one| word.eq_ignore_ascii_case(one))
}

/// The same for one or many: `ids` is `id`.
fn among_or_many(word: &str, list: &[&str]) -> bool {
    among(word, list) || word.strip_suffix('s').is_some_and(|one| among(one, list))
}

impl Sense {
    /// What a field of this name and this `format` holds, and how many words at the end of the name said so and need not
    /// be said again.
    pub(super) fn of(words: &[&str], format: Option<&str>) -> (Self, usize) {
        match format {
            Some("percent" | "percentage") => return (Self::Percent, 0),
            Some("time") => return (Self::Time, 0),
            _ => {}
        }
        let (Some((last, stem)), Some(first)) = (words.split_last(), words.first()) else {
            return (Self::Plain, 0);
        };
        if let Some(found) = stem.split_last().and_then(|(before, _)| Self::of_two(before, last, stem)) {
            return (found, 1);
        }
        if among(last, &["percent", "pct"]) {
            return (Self::Percent, usize::from(!stem.is_empty()));
        }
        let plain = [
            (among(last, &["percentage"]), Self::Percent),
            (among(last, &["ratio", "probability", "share"]) && !among(first, &["aspect"]), Self::Ratio),
            (among(last, &CODE), Self::Code),
            (among_or_many(last, &NAMES), Self::Name),
            (among(last, &WRITTEN), Self::Written),
            (among(last, &TIMES), Self::Time),
            (among(last, &AMOUNTS), Self::Amount),
            (among(first, &AMOUNTS) && words.get(1).is_some_and(|word| among(word, &["per"])), Self::Amount),
        ];
        (plain.into_iter().find(|(is, _)| *is).map_or(Self::Plain, |(_, sense)| sense), 0)
    }

    /// What the last word says beside the one before it.
    fn of_two(before: &str, last: &str, stem: &[&str]) -> Option<Self> {
        let warm = || {
            stem.iter().any(|word| {
                word.len() >= 4 && word.to_ascii_lowercase().contains("temp") || among(word, &WARM)
            })
        };
        if among(last, &["c"]) && warm() {
            return Some(Self::Measure(Measure::Of(Unit::Celsius)));
        }
        if among(last, &["f"]) && warm() {
            return Some(Self::Measure(Measure::Of(Unit::Fahrenheit)));
        }
        if among(last, &CURRENCIES) {
            return Currency::parse(last).ok().map(Self::Money);
        }
        // Millibars are no megabytes.
        if among(before, &["pressure"]) && among(last, &["mb"]) {
            return None;
        }
        let alone = UNITS.iter().find(|(word, _)| last.eq_ignore_ascii_case(word)).map(|(_, unit)| *unit);
        let fits =
            |(word, _, of): &&(&str, Measure, &[&str])| last.eq_ignore_ascii_case(word) && among(before, of);
        alone.or_else(|| UNITS_OF.iter().find(fits).map(|(_, unit, _)| *unit)).map(Self::Measure)
    }
}

#[cfg(test)]
mod tests {
    use super::super::name::words;
    use super::*;

    fn check(name: &str, sense: Sense, taken: usize) {
        assert_eq!(Sense::of(&words(name), None), (sense, taken), "{name}");
    }

    #[test]
    fn names_say_what_numbers_mean() {
        let unit = |unit| Sense::Measure(Measure::Of(unit));
        let symbol = |symbol| Sense::Measure(Measure::Symbol(symbol));
        check("temperature_c", unit(Unit::Celsius), 1);
        check("feelslike_f", unit(Unit::Fahrenheit), 1);
        check("tempC", unit(Unit::Celsius), 1);
        check("wind_kmh", unit(Unit::KilometerPerHour), 1);
        check("sizeBytes", unit(Unit::Byte), 1);
        check("elevation_m", unit(Unit::Meter), 1);
        check("duration_ms", symbol("ms"), 1);
        check("durationSeconds", unit(Unit::Second), 1);
        check("area_km2", symbol("km²"), 1);
        check("humidity_percent", Sense::Percent, 1);
        check("percent", Sense::Percent, 0);
        check("win_probability", Sense::Ratio, 0);
        check("price_chf", Sense::Money(Currency::parse("CHF").unwrap()), 1);
        check("total_price", Sense::Amount, 0);
        check("price_per_night", Sense::Amount, 0);
        for name in
            ["id", "userId", "order_ids", "year", "zip_code", "protocolVersion", "invoice_number", "port"]
        {
            check(name, Sense::Name, 0);
        }
        check("coordinates", Sense::Written, 0);
        check("created_at", Sense::Time, 0);
        check("stderr", Sense::Code, 0);
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
            check(name, Sense::Plain, 0);
        }
    }
}
