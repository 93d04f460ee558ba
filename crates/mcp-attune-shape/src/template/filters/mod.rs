//! The filters and tests that templates can use.
//!
//! 1. A filter on `null` gives `null`, which prints nothing; on what has no value, or on a value of another
//!    kind, it is an error that names the filter and the kind, and never the value.
//! 2. Of minijinja's own filters there are those that cannot make much of little: no padding, no repetition.
//!    Those that could are here again, with a bound.
//!
//! Rule 1 is about the filters that are written here, with three exceptions: `raw` accepts what has no value,
//! `tojson` writes `null` as such, and `t` refuses it. The filters of minijinja convert or refuse other kinds
//! of values in their own way.

#![allow(clippy::needless_pass_by_value, reason = "minijinja hands arguments over by value")]

mod options;
mod numbers;
mod texts;
mod times;
mod words;

use minijinja::tests as judged;
use minijinja::{Environment, filters};

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
    "translated" => words::translated,
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
    "defined" => judged::is_defined,
    "undefined" => judged::is_undefined,
    "none" => judged::is_none,
    "boolean" => judged::is_boolean,
    "number" => judged::is_number,
    "integer" => judged::is_integer,
    "float" => judged::is_float,
    "string" => judged::is_string,
    "sequence" => judged::is_sequence,
    "iterable" => judged::is_iterable,
    "mapping" => judged::is_mapping,
    "odd" => judged::is_odd,
    "even" => judged::is_even,
    "divisibleby" => judged::is_divisibleby,
    "startingwith" => judged::is_startingwith,
    "endingwith" => judged::is_endingwith,
    "lower" => judged::is_lower,
    "upper" => judged::is_upper,
    "eq" => judged::is_eq,
    "equalto" => judged::is_eq,
    "ne" => judged::is_ne,
    "lt" => judged::is_lt,
    "le" => judged::is_le,
    "gt" => judged::is_gt,
    "ge" => judged::is_ge,
    "in" => judged::is_in,
    "true" => judged::is_true,
    "false" => judged::is_false,
}

/// Adds all filters and tests to an environment.
pub(super) fn add(environment: &mut Environment<'_>) {
    add_filters(environment);
    add_tests(environment);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_every_filter_and_no_other() {
        let guide = include_str!("../../../../../docs/templates.md");
        let (_, guide) = guide.split_once("## What it can do with values").unwrap();
        let (guide, _) = guide.split_once("\n## ").unwrap();
        for name in NAMES.iter().filter(|name| !["d", "safe", "count"].contains(name)) {
            let said = guide.contains(&format!("`{name}`")) || guide.contains(&format!("`{name}("));
            assert!(said, "`{name}` is not in docs/templates.md");
        }
        let used = guide.split("\\| ").skip(1).map(|rest| {
            let end = rest.find(|char: char| !char.is_ascii_lowercase()).unwrap_or(rest.len());
            rest.split_at(end).0
        });
        for name in used {
            assert!(NAMES.contains(&name), "docs/templates.md uses `{name}`");
        }
    }
}
