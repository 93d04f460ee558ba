//! The minijinja environments of templates: their syntax, filters and bounds, and how values are printed.

use std::sync::OnceLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{AutoEscape, Environment, UndefinedBehavior};

use super::error::{TemplateRenderReason, render_error};
use super::{filters, print};
use mcp_attune::features::ContentFormat;

/// How many loops, macros and the like may be inside each other. A macro counts as four.
const MAX_DEPTH: usize = 200;

/// Returns the environment that templates of a format are compiled in. It is made once for each format, and
/// cloned by each template.
///
/// It has no loader, so a template has no way to another file, and no built-in filters or functions but those
/// that are added here. Undefined values can be tested with `if`, and are errors where they are printed,
/// iterated over or looked into.
pub(super) fn environment(kind: ContentFormat) -> &'static Environment<'static> {
    static ENVIRONMENTS: [OnceLock<Environment<'static>>; ContentFormat::ALL.len()] =
        [const { OnceLock::new() }; ContentFormat::ALL.len()];
    // There is one for each, so the first is never taken for another.
    let [first, ..] = &ENVIRONMENTS;
    let kept = ENVIRONMENTS.get(kind as usize).unwrap_or(first);
    kept.get_or_init(|| {
        let mut environment = Environment::empty();
        filters::add(&mut environment);
        environment.add_function("range", range);
        // What has no value can be asked for, and not be printed.
        environment.set_undefined_behavior(UndefinedBehavior::SemiStrict);
        // So that what a macro gives is known to be escaped already; who escapes is the formatter.
        environment.set_auto_escape_callback(|_| AutoEscape::Custom("attune".into()));
        environment.set_formatter(move |out, state, value| print::print(kind, out, state, value));
        environment.set_recursion_limit(MAX_DEPTH);
        environment.set_debug(false);
        // Statements on lines of their own leave no empty lines, which would end a table.
        if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
            environment.set_syntax(syntax);
        }
        environment
    })
}

/// Implements the function `range`, with bounds of at most 2^31 either way, so that minijinja's arithmetic
/// cannot overflow. minijinja itself refuses ranges of more than 100000 numbers.
fn range(from: i64, to: Option<i64>, step: Option<i64>) -> Result<Value, minijinja::Error> {
    const MAX_RANGE_BOUND: i64 = 1 << 31;
    let narrow = |number: i64| match isize::try_from(number) {
        Ok(narrow) if number.abs_diff(0) <= MAX_RANGE_BOUND.unsigned_abs() => Ok(narrow),
        _ => Err(render_error(TemplateRenderReason::Filter {
            name: "range",
            what: "takes smaller numbers".to_owned(),
        })),
    };
    let (to, step) = (to.map(narrow).transpose()?, step.map(narrow).transpose()?);
    minijinja::functions::range(narrow(from)?, to, step)
}
