//! Numbers, money, percentages and measures as the caller writes them.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::super::context::ContextObject;
use super::options::{self, FilterOptions, filter_error};
use mcp_attune::format::{Currency, DecimalNumber, FormatLength, FractionDigits, MeasureUnit};

/// Writes a number in the caller's locale: `1234.5 | number`, `number(2)` for two digits behind the point,
/// `up_to=1` for at most one, `group=false` for years and other numbers without grouping.
pub(super) fn number(
    state: &State<'_, '_>,
    value: &Value,
    digits: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("number", &given);
    let digits = read_digits(&options, digits.as_ref())?.unwrap_or_default();
    let group = options.flag("group", true)?;
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("number", value)?;
    let values = &ContextObject::from_state(state)?.values;
    Ok(Value::from(if group { values.number(&number, digits) } else { values.ungrouped(&number, digits) }))
}

/// Reads how many fraction digits are wanted: exactly as many as `digits` or the first argument says, or else
/// at most `up_to`. Returns `None` if neither is given.
fn read_digits(options: &FilterOptions<'_>, placed: Option<&Value>) -> Result<Option<FractionDigits>, Error> {
    let narrow = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
    let exactly = options.count("digits", placed)?.map(|count| FractionDigits::exactly(narrow(count)));
    let up_to = options.count("up_to", None)?.map(|count| FractionDigits::up_to(narrow(count)));
    Ok(exactly.or(up_to))
}

/// Writes an amount of money: `12.5 | currency("CHF")`. The currency decides how many digits there are.
pub(super) fn currency(
    state: &State<'_, '_>,
    value: &Value,
    code: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("currency", &given);
    let code = options.text("code", code.as_ref())?;
    options.reject_unknown_options()?;
    let code = code.and_then(|code| Currency::parse(&code).ok());
    let code =
        code.ok_or_else(|| filter_error("currency", "takes a code of three letters, such as \"CHF\""))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("currency", value)?;
    Ok(Value::from(ContextObject::from_state(state)?.values.currency(&number, code)))
}

/// Writes a ratio as a percentage: `0.3 | percent` is 30 %, and `30 | percent(of=100)` too, where the value
/// is in percent already. Digits are given as for `number`; without them there are none.
pub(super) fn percent(
    state: &State<'_, '_>,
    value: &Value,
    digits: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("percent", &given);
    let digits = read_digits(&options, digits.as_ref())?.unwrap_or(FractionDigits::up_to(0));
    let of = options.count("of", None)?.unwrap_or(1);
    options.reject_unknown_options()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("percent", value)?;
    let ratio = match of {
        1 => Some(number),
        100 => DecimalNumber::parse(&format!("{number}e-2")).ok(),
        _ => return Err(filter_error("percent", "takes 1 or 100 as `of`")),
    };
    let ratio =
        ratio.ok_or_else(|| filter_error("percent", "takes a number, and this has too many digits"))?;
    Ok(Value::from(ContextObject::from_state(state)?.values.percent(&ratio, digits)))
}

/// Writes a measure: `15 | unit("kilometer-per-hour")`, `unit("kilometer", length="long")`. The name of the
/// unit is CLDR's.
pub(super) fn unit(
    state: &State<'_, '_>,
    value: &Value,
    unit: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = FilterOptions::new("unit", &given);
    let unit = options.text("unit", unit.as_ref())?;
    let length = options.length(None, FormatLength::Medium)?;
    options.reject_unknown_options()?;
    let unit = unit.and_then(|unit| MeasureUnit::named(&unit));
    let unit =
        unit.ok_or_else(|| filter_error("unit", "takes the name of a unit, such as \"kilometer-per-hour\""))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("unit", value)?;
    Ok(Value::from(ContextObject::from_state(state)?.values.unit(&number, unit, length)))
}
