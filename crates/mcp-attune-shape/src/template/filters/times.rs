//! Days, times and distances of time as the caller writes them, in the caller's zone or in another.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, State};

use super::super::scene::Root;
use super::options::{Options, other_kind, wrong};
use mcp_attune::context::Zone;
use mcp_attune::format::{Format, Length, Step};

/// How many bytes a text may have that is read as a time.
const LONGEST: usize = 64;

/// What a value says about time.
enum Moment {
    Instant(Timestamp),
    /// In no zone.
    Civil(DateTime),
    Day(Date),
    Clock(Time),
}

impl Moment {
    /// Text by ISO 8601, or seconds since 1970.
    fn read(name: &'static str, value: &Value) -> Result<Self, Error> {
        let wanted = "a date or time such as \"2026-11-15T09:30:00Z\", or seconds since 1970";
        match value.kind() {
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                let read = if text.len() <= LONGEST { Self::parse(text) } else { None };
                read.ok_or_else(|| wrong(name, format!("takes {wanted}, and this is text that is none")))
            }
            ValueKind::Number => seconds(value).map(Self::Instant).ok_or_else(|| {
                wrong(name, format!("takes {wanted}, and this is a number that is no such time"))
            }),
            _ => Err(other_kind(name, wanted, value)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        if text.contains(['T', 't', ' ']) {
            let instant = text.parse().ok().map(Self::Instant);
            return instant.or_else(|| text.parse().ok().map(Self::Civil));
        }
        let day = || text.parse().ok().map(Self::Day);
        if text.contains(':') { text.parse().ok().map(Self::Clock) } else { day() }
    }
}

/// An instant in seconds since 1970.
fn seconds(value: &Value) -> Option<Timestamp> {
    if let Some(whole) = value.as_i64() {
        return Timestamp::from_second(whole).ok();
    }
    let float = f64::try_from(value.clone()).ok().filter(|float| float.is_finite())?;
    Timestamp::from_duration(jiff::SignedDuration::try_from_secs_f64(float).ok()?).ok()
}

/// Where instants are shown, and whether that is said.
fn place(name: &'static str, root: &Root, options: &Options<'_>) -> Result<(Format, bool), Error> {
    let Some(zone) = options.any("zone", None)? else { return Ok((root.values.clone(), false)) };
    let wanted = || wrong(name, "takes the name of a zone, such as \"Europe/Zurich\", or true as `zone`");
    match (zone.kind(), zone.as_str()) {
        (ValueKind::Bool, _) => Ok((root.values.clone(), zone.is_true())),
        (_, Some(text)) => {
            let zone = Zone::parse(text).map_err(|_| wanted())?.time_zone();
            Ok((root.values.within(zone), true))
        }
        _ => Err(wanted()),
    }
}

/// `departure | date`, `date("long")`, `date(zone="Europe/Zurich")`
pub(super) fn date(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("date", &given);
    let length = options.length(length.as_ref(), Length::Medium)?;
    let (values, _) = place("date", &*Root::of(state)?, &options)?;
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let day = match Moment::read("date", value)? {
        Moment::Instant(instant) => values.zone().to_datetime(instant).date(),
        Moment::Civil(civil) => civil.date(),
        Moment::Day(day) => day,
        Moment::Clock(_) => return Err(wrong("date", "takes a date, and this is a time of day")),
    };
    Ok(Value::from(values.date(day, length)))
}

/// `departure | time`, short unless said otherwise
pub(super) fn time(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("time", &given);
    let length = options.length(length.as_ref(), Length::Short)?;
    let (values, _) = place("time", &*Root::of(state)?, &options)?;
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let clock = match Moment::read("time", value)? {
        Moment::Instant(instant) => values.zone().to_datetime(instant).time(),
        Moment::Civil(civil) => civil.time(),
        Moment::Clock(clock) => clock,
        Moment::Day(_) => return Err(wrong("time", "takes a time, and this is a day")),
    };
    Ok(Value::from(values.time(clock, length)))
}

/// `departure | datetime`; with `zone=true` or a zone's name, the zone is named
pub(super) fn datetime(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("datetime", &given);
    let length = options.length(length.as_ref(), Length::Medium)?;
    let (values, named) = place("datetime", &*Root::of(state)?, &options)?;
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    Ok(Value::from(match Moment::read("datetime", value)? {
        Moment::Instant(instant) if named => values.zoned(instant, length),
        Moment::Instant(instant) => values.date_time(values.zone().to_datetime(instant), length),
        Moment::Civil(civil) => values.date_time(civil, length),
        Moment::Day(day) => values.date(day, length),
        Moment::Clock(_) => return Err(wrong("datetime", "takes a date, and this is a time of day")),
    }))
}

/// `departure | relative`: `in 3 hours`; of a day `tomorrow`; of a number so many seconds from now
pub(super) fn relative(
    state: &State<'_, '_>,
    value: &Value,
    length: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("relative", &given);
    let length = options.length(length.as_ref(), Length::Long)?;
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let root = Root::of(state)?;
    if value.kind() == ValueKind::Number {
        let seconds = f64::try_from(value.clone()).ok();
        let distance = seconds.and_then(|seconds| jiff::SignedDuration::try_from_secs_f64(seconds).ok());
        let distance = distance.ok_or_else(|| wrong("relative", "takes seconds, and these are too many"))?;
        return Ok(Value::from(root.values.distance(distance, length)));
    }
    let zone = root.values.zone();
    let instant = match Moment::read("relative", value)? {
        Moment::Instant(instant) => Some(instant),
        Moment::Civil(civil) => zone.to_timestamp(civil).ok(),
        Moment::Day(day) => {
            let today = zone.to_datetime(root.now).date();
            let days = day.duration_since(today).as_hours() / 24;
            return Ok(Value::from(root.values.relative(days, Step::Day, length)));
        }
        Moment::Clock(_) => return Err(wrong("relative", "takes a date, and this is a time of day")),
    };
    let instant = instant.ok_or_else(|| wrong("relative", "takes a time that the caller's zone can have"))?;
    Ok(Value::from(root.values.distance(instant.duration_since(root.now), length)))
}
