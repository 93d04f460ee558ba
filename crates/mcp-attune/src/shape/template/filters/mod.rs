//! What templates can do with values.
//!
//! 1. A filter on `null` gives `null`, which prints nothing; on what has no value, or on a value of another kind, it is an
//!    error that names the filter and the kind, and never the value.
//! 2. Of minijinja's own filters there are those that cannot make much of little: no padding, no repetition. Those that
//!    could are here again, with a bound.

#![allow(clippy::needless_pass_by_value, reason = "minijinja hands arguments over by value")]

mod numbers;
mod options;
mod texts;
mod times;
mod words;

use minijinja::{Environment, filters, tests};

macro_rules! named {
    ($names:ident, $add:ident, $method:ident, $what:literal: $($name:literal => $function:path,)+) => {
        #[doc = $what]
        pub(super) const $names: &[&str] = &[$($name),+];

        fn $add(environment: &mut Environment<'_>) {
            $(environment.$method($name, $function);)+
        }
    };
}

named! {
    NAMES, add_filters, add_filter, "The filters that there are.":
    // for the caller's locale and zone,
    "number" => numbers::number,
    "currency" => numbers::currency,
    "percent" => numbers::percent,
    "unit" => numbers::unit,
    "date" => times::date,
    "time" => times::time,
    "datetime" => times::datetime,
    "relative" => times::relative,
    "plural" => words::plural,
    "list" => words::list,
    "t" => words::t,
    // for text,
    "link" => texts::link,
    "raw" => texts::raw,
    "safe" => texts::raw,
    "tojson" => texts::tojson,
    "join" => texts::join,
    "replace" => texts::replace,
    "truncate" => texts::truncate,
    "upper" => filters::upper,
    "lower" => filters::lower,
    "title" => filters::title,
    "capitalize" => filters::capitalize,
    "trim" => filters::trim,
    "split" => filters::split,
    "lines" => filters::lines,
    "string" => filters::string,
    // for lists and maps,
    "length" => filters::length,
    "count" => filters::length,
    "first" => filters::first,
    "last" => filters::last,
    "sort" => filters::sort,
    "reverse" => filters::reverse,
    "unique" => filters::unique,
    "items" => filters::items,
    "dictsort" => filters::dictsort,
    "groupby" => filters::groupby,
    "map" => filters::map,
    "select" => filters::select,
    "reject" => filters::reject,
    "selectattr" => filters::selectattr,
    "rejectattr" => filters::rejectattr,
    "min" => filters::min,
    "max" => filters::max,
    "sum" => filters::sum,
    // and for the rest.
    "abs" => filters::abs,
    "round" => filters::round,
    "int" => filters::int,
    "float" => filters::float,
    "bool" => filters::bool,
    "default" => filters::default,
    "d" => filters::default,
}

named! {
    TESTS, add_tests, add_test, "The tests that there are.":
    "defined" => tests::is_defined,
    "undefined" => tests::is_undefined,
    "none" => tests::is_none,
    "boolean" => tests::is_boolean,
    "number" => tests::is_number,
    "integer" => tests::is_integer,
    "float" => tests::is_float,
    "string" => tests::is_string,
    "sequence" => tests::is_sequence,
    "iterable" => tests::is_iterable,
    "mapping" => tests::is_mapping,
    "odd" => tests::is_odd,
    "even" => tests::is_even,
    "divisibleby" => tests::is_divisibleby,
    "startingwith" => tests::is_startingwith,
    "endingwith" => tests::is_endingwith,
    "lower" => tests::is_lower,
    "upper" => tests::is_upper,
    "eq" => tests::is_eq,
    "equalto" => tests::is_eq,
    "ne" => tests::is_ne,
    "lt" => tests::is_lt,
    "le" => tests::is_le,
    "gt" => tests::is_gt,
    "ge" => tests::is_ge,
    "in" => tests::is_in,
    "true" => tests::is_true,
    "false" => tests::is_false,
}

/// Adds them.
pub(super) fn add(environment: &mut Environment<'_>) {
    add_filters(environment);
    add_tests(environment);
}
