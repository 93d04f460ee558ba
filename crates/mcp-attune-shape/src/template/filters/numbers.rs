//! Numbers, money, percentages and measures as the caller writes them.

use minijinja::value::{Kwargs, Value};
use minijinja::{Error, State};

use super::super::scene::Root;
use super::options::{self, Options, wrong};
use mcp_attune::format::{Currency, Digits, Length, Number, Unit};

/// `1234.5 | number`, `number(2)` for two digits behind the point, `up_to=1` for at most one, `group=false` for years.
pub(super) fn number(
    state: &State<'_, '_>,
    value: &Value,
    digits: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("number", &given);
    let digits = read_digits(&options, digits.as_ref())?.unwrap_or_default();
    let group = options.flag("group", true)?;
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("number", value)?;
    let values = &Root::of(state)?.values;
    Ok(Value::from(if group { values.number(&number, digits) } else { values.ungrouped(&number, digits) }))
}

fn read_digits(options: &Options<'_>, placed: Option<&Value>) -> Result<Option<Digits>, Error> {
    let narrow = |count: usize| u8::try_from(count).unwrap_or(u8::MAX);
    let exactly = options.count("digits", placed)?.map(|count| Digits::exactly(narrow(count)));
    let up_to = options.count("up_to", None)?.map(|count| Digits::up_to(narrow(count)));
    Ok(exactly.or(up_to))
}

/// `12.5 | currency("CHF")`
pub(super) fn currency(
    state: &State<'_, '_>,
    value: &Value,
    code: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("currency", &given);
    let code = options.text("code", code.as_ref())?;
    options.done()?;
    let code = code.and_then(|code| Currency::parse(&code).ok());
    let code = code.ok_or_else(|| wrong("currency", "takes a code of three letters, such as \"CHF\""))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("currency", value)?;
    Ok(Value::from(Root::of(state)?.values.currency(&number, code)))
}

/// `0.3 | percent`, and `30 | percent(of=100)` where the value is in percent already; digits as of `number`.
pub(super) fn percent(
    state: &State<'_, '_>,
    value: &Value,
    digits: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("percent", &given);
    let digits = read_digits(&options, digits.as_ref())?.unwrap_or(Digits::up_to(0));
    let of = options.count("of", None)?.unwrap_or(1);
    options.done()?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("percent", value)?;
    let ratio = match of {
        1 => Some(number),
        100 => Number::parse(&format!("{number}e-2")).ok(),
        _ => return Err(wrong("percent", "takes 1 or 100 as `of`")),
    };
    let ratio = ratio.ok_or_else(|| wrong("percent", "takes a number, and this has too many digits"))?;
    Ok(Value::from(Root::of(state)?.values.percent(&ratio, digits)))
}

/// `15 | unit("kilometer-per-hour")`, `unit("kilometer", length="long")`
pub(super) fn unit(
    state: &State<'_, '_>,
    value: &Value,
    unit: Option<Value>,
    given: Kwargs,
) -> Result<Value, Error> {
    let options = Options::new("unit", &given);
    let unit = options.text("unit", unit.as_ref())?;
    let length = options.length(None, Length::Medium)?;
    options.done()?;
    let unit = unit.and_then(|unit| Unit::named(&unit));
    let unit =
        unit.ok_or_else(|| wrong("unit", "takes the name of a unit, such as \"kilometer-per-hour\""))?;
    if value.is_none() {
        return Ok(value.clone());
    }
    let number = options::number("unit", value)?;
    Ok(Value::from(Root::of(state)?.values.unit(&number, unit, length)))
}
