//! Filters for dates, times and distances of time, as the caller writes them, in the caller's zone or in
//! another.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use super::super::context::ContextObject;
use super::options::{FilterOptions, filter_error, wrong_kind_error};
use mcp_attune::context::IanaTimeZone;
use mcp_attune::format::{FormatLength, RelativeTimeUnit, ValueFormatter};

/// How many bytes a text may have that is read as a time.
const MAX_TIME_BYTES: usize = 64;

/// What a value says about time. Instants are shown in the zone of the caller, or in the one that a filter is
/// given; for `relative` a civil time counts as one in the caller's zone.
enum TimeValue {
    /// A point in time, from a text with an offset or `Z`, or from seconds since 1970.
    Instant(Timestamp),
    /// A date and a time of day in no zone; it is shown as it is.
    Civil(DateTime),
    /// A date alone.
    Day(Date),
    /// A time of day alone.
    Clock(Time),
}

impl TimeValue {
    /// Reads a text in ISO 8601, or a number of seconds since 1970. `name` is the filter, for the error.
    fn read(name: &'static str, value: &Value) -> Result<Self, Error> {
        let wanted = "a date or time such as \"2026-11-15T09:30:00Z\", or seconds since 1970";
        match value.kind() {
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                let read = if text.len() <= MAX_TIME_BYTES { Self::parse(text) } else { None };
                read.ok_or_else(|| {
                    filter_error(name, format!("takes {wanted}, and this is text that is none"))
                })
            }
            ValueKind::Number => instant_from_seconds(value).map(Self::Instant).ok_or_else(|| {
                filter_error(name, format!("takes {wanted}, and this is a number that is no such time"))
            }),
            _ => Err(wrong_kind_error(name, wanted, value)),
        }
    }

    /// Parses a text. What has a `T` or a blank is a date with a time, what has a colon a time of day, and
    /// all else a date.
    fn parse(text: &str) -> Option<Self> {
        if text.contains(['T', 't', ' ']) {
            let instant = text.parse().ok().map(Self::Instant);
            return instant.or_else(|| text.parse().ok().map(Self::Civil));
        }
        let day = || text.parse().ok().map(Self::Day);
        if text.contains(':') { text.parse().ok().map(Self::Clock) } else { day() }
    }
}

/// Returns the instant of a number of seconds since 1970, which may have a fraction; `None` if it is out of
/// range.
fn instant_from_seconds(value: &Value) -> Option<Timestamp> {
    if let Some(whole) = value.as_i64() {
        return Timestamp::from_second(whole).ok();
    }
    let float = f64::try_from(value.clone()).ok().filter(|float| float.is_finite())?;
    Timestamp::from_duration(jiff::SignedDuration::try_from_secs_f64(float).ok()?).ok()
}

/// Reads the option `zone`, and returns the formatter for it and whether the zone is to be named in the text.
///
/// Without the option it is the caller's zone, unnamed; with `true` the caller's, named; with the name of a
/// zone that zone, named.
fn display_zone(
    name: &'static str,
    root: &ContextObject,
    options: &FilterOptions<'_>,
) -> Result<(ValueFormatter, bool), Error> {
    let Some(zone) = options.named_or_positional("zone", None)? else {
        return Ok((root.values.clone(), false));
    };
    let wanted =
        || filter_error(name, "takes the name of a zone, such as \"Europe/Zurich\", or true as `zone`");
    match (zone.kind(), zone.as_str()) {
        (ValueKind::Bool, _) => Ok((root.values.clone(), zone.is_true())),
        (_, Some(text)) => {
            let zone = IanaTimeZone::parse(text).map_err(|_| wanted())?.time_zone();
            Ok((root.values.in_zone(zone), true))
        }
        _ => Err(wanted()),
    }
}

/// Writes the date of an instant, a civil time or a day: `departure | date`, `date("long")`,
/// `date(zone="Europe/Zurich")`. The length is `medium` unless another is given. A time of day is an error.
pub(super) fn date(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("date", &given);
    let length = options.length(length.as_ref(), FormatLength::Medium)?;
    let (values, _) = display_zone("date", &*ContextObject::from_state(state)?, &options)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let day = match TimeValue::read("date", value)? {
        TimeValue::Instant(instant) => values.zone().to_datetime(instant).date(),
        TimeValue::Civil(civil) => civil.date(),
        TimeValue::Day(day) => day,
        TimeValue::Clock(_) => return Err(filter_error("date", "takes a date, and this is a time of day")),
    };
    Ok(Value::from(values.date(day, length)))
}

/// Writes the time of day of an instant or a civil time: `departure | time`. The length is `short` unless
/// another is given. A day is an error.
pub(super) fn time(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("time", &given);
    let length = options.length(length.as_ref(), FormatLength::Short)?;
    let (values, _) = display_zone("time", &*ContextObject::from_state(state)?, &options)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let clock = match TimeValue::read("time", value)? {
        TimeValue::Instant(instant) => values.zone().to_datetime(instant).time(),
        TimeValue::Civil(civil) => civil.time(),
        TimeValue::Clock(clock) => clock,
        TimeValue::Day(_) => return Err(filter_error("time", "takes a time, and this is a day")),
    };
    Ok(Value::from(values.time(clock, length)))
}

/// Writes date and time: `departure | datetime`. With `zone=true` or a zone's name, the zone is named. Of a
/// day only the date is written.
pub(super) fn datetime(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("datetime", &given);
    let length = options.length(length.as_ref(), FormatLength::Medium)?;
    let (values, named) = display_zone("datetime", &*ContextObject::from_state(state)?, &options)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    Ok(Value::from(match TimeValue::read("datetime", value)? {
        TimeValue::Instant(instant) if named => values.zoned(instant, length),
        TimeValue::Instant(instant) => values.date_time(values.zone().to_datetime(instant), length),
        TimeValue::Civil(civil) => values.date_time(civil, length),
        TimeValue::Day(day) => values.date(day, length),
        TimeValue::Clock(_) => {
            return Err(filter_error("datetime", "takes a date, and this is a time of day"));
        }
    }))
}

/// Writes how far a time is from now: `departure | relative` gives `in 3 hours`. A day is counted by the
/// calendar in the caller's zone, so that it can be `tomorrow`. A number is a distance in seconds from now,
/// not a time.
pub(super) fn relative(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("relative", &given);
    let length = options.length(length.as_ref(), FormatLength::Long)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let root = ContextObject::from_state(state)?;
    if value.kind() == ValueKind::Number {
        let seconds = f64::try_from(value.clone()).ok();
        let distance = seconds.and_then(|seconds| jiff::SignedDuration::try_from_secs_f64(seconds).ok());
        let distance =
            distance.ok_or_else(|| filter_error("relative", "takes seconds, and these are too many"))?;
        return Ok(Value::from(root.values.distance(distance, length)));
    }
    let zone = root.values.zone();
    let instant = match TimeValue::read("relative", value)? {
        TimeValue::Instant(instant) => Some(instant),
        TimeValue::Civil(civil) => zone.to_timestamp(civil).ok(),
        TimeValue::Day(day) => {
            let today = zone.to_datetime(root.now).date();
            let days = day.duration_since(today).as_hours() / 24;
            return Ok(Value::from(root.values.relative(days, RelativeTimeUnit::Day, length)));
        }
        TimeValue::Clock(_) => {
            return Err(filter_error("relative", "takes a date, and this is a time of day"));
        }
    };
    let instant =
        instant.ok_or_else(|| filter_error("relative", "takes a time that the caller's zone can have"))?;
    Ok(Value::from(root.values.distance(instant.duration_since(root.now), length)))
}
