//! Compares the names in a template with the `outputSchema` of the tool that it is for.
//!
//! A name is followed through the template: members, elements, loops over lists, and variables that are set
//! to a part of the result. What is not understood is not reported: a template without findings may still
//! fail, but where there is a finding, the template is wrong, or the schema is.

use core::fmt;

use super::compiled::Template;
use super::context::RESERVED_NAMES;
use super::lex::{self, LocatedToken, TemplateTag, TemplateToken};
use super::vet::KEYWORDS;
use crate::compiled_schema::{CompiledSchema, Subschema};
use mcp_attune::catalog::line_and_column;
use mcp_attune::features::KNOWN_FLAGS;
use mcp_attune::suggestion::{nearest, quote_name};

/// A name in a template that no result has, or that is no feature tag. It displays as what is wrong and what
/// to do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct TemplateNameFinding {
    /// The line in the template, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
    /// The way to it through the result, as locale files write it: `stops[].name`; or `features.NAME`.
    pub path: String,
    /// The name that was probably meant; `None` if none is similar enough.
    pub meant: Option<String>,
    /// Where the name was looked for.
    pub place: TemplateNameSource,
}

/// Where a name in a template comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TemplateNameSource {
    /// The `outputSchema` of the tool.
    Output,
    /// The feature tags that callers can declare.
    Features,
}

impl TemplateNameFinding {
    /// Returns what is wrong.
    #[must_use]
    pub fn what(&self) -> String {
        match self.place {
            TemplateNameSource::Output => format!("`{}` is not in the output schema", self.path),
            TemplateNameSource::Features => format!("`{}` is no tag that callers can say", self.path),
        }
    }

    /// Returns what to do about it.
    #[must_use]
    pub fn hint(&self) -> String {
        match (&self.meant, self.place) {
            (Some(meant), _) => format!("did you mean `{meant}`?"),
            (None, TemplateNameSource::Output) => "take it out, or add it to the schema".to_owned(),
            (None, TemplateNameSource::Features) => {
                "vendors' tags begin with `x-`: features[\"x-acme\"]".to_owned()
            }
        }
    }
}

/// Says what is wrong and what to do; the place is in the fields.
impl fmt::Display for TemplateNameFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.hint())
    }
}

impl Template {
    /// Finds names in the template that a result with this schema does not have, and tags that no caller can
    /// declare. Without a schema only the tags are checked.
    ///
    /// A name counts as missing only if the schema names all members of its part, see
    /// [`Subschema::names_all`]. At most 50 findings are returned.
    ///
    /// ```
    /// use mcp_attune_shape::CompiledSchema;
    /// use mcp_attune_shape::template::Template;
    ///
    /// let output = CompiledSchema::read(r#"{"type":"object","properties":{"temperature_c":{},
    ///     "days":{"type":"array","items":{"properties":{"high":{}}}}}}"#).unwrap();
    /// let source = "{{ temperatur_c }}\n{% for day in days %}\n{{ day.hihg }}\n{% endfor %}";
    /// let findings = Template::compile("md", source).unwrap().check(Some(&output));
    /// let told: Vec<_> = findings.iter().map(|it| format!("{}:{}: {it}", it.line, it.column)).collect();
    /// assert_eq!(told, [
    ///     "1:4: `temperatur_c` is not in the output schema; did you mean `temperature_c`?",
    ///     "3:8: `days[].hihg` is not in the output schema; did you mean `high`?",
    /// ]);
    /// ```
    #[must_use]
    pub fn check(&self, output: Option<&CompiledSchema>) -> Vec<TemplateNameFinding> {
        let mut check = TemplateNameChecker {
            source: self.source(),
            output,
            scopes: vec![Vec::new()],
            findings: Vec::new(),
        };
        for tag in &lex::split_tags(self.source()).all {
            check.check_tag(tag);
        }
        check.findings
    }
}

/// What a variable stands for: a part of the result and the path to it; `None` if that is not known, so that
/// nothing is said about what is inside of it.
type VariableSchema<'o> = Option<(Subschema<'o>, String)>;

/// Goes through the tags of one template in their order, with the variables that are in scope.
struct TemplateNameChecker<'t, 'o> {
    source: &'t str,
    output: Option<&'o CompiledSchema>,
    /// The variables that the template sets, by scope, the innermost last. The first scope is the template
    /// itself; loops, `with`, macros and `call` open others.
    scopes: Vec<Vec<(&'t str, VariableSchema<'o>)>>,
    findings: Vec<TemplateNameFinding>,
}

/// One step of an access such as `a.b[0]["c"]`.
enum AccessStep<'t> {
    /// A member, and the offset of its name in the template.
    Member(&'t str, usize),
    /// An element of a list, by a literal number.
    Element,
}

impl<'t, 'o> TemplateNameChecker<'t, 'o> {
    /// Checks the names in one tag, and opens or closes the scope that it begins or ends.
    fn check_tag(&mut self, tag: &TemplateTag<'t>) {
        let words = tag.words.as_slice();
        let Some((LocatedToken { token: TemplateToken::Name(name), .. }, rest)) =
            words.split_first().filter(|_| tag.statement)
        else {
            return self.check_expression(words);
        };
        match *name {
            "for" => {
                let names = rest.iter().take_while(|word| word.token != TemplateToken::Name("in"));
                let names: Vec<&str> = names.filter_map(|word| name_of(*word)).collect();
                let from = rest
                    .iter()
                    .position(|word| word.token == TemplateToken::Name("in"))
                    .map_or(rest.len(), |at| at + 1);
                let over = rest.get(from..).unwrap_or_default();
                let element = self.resolve_elements(over);
                // The filter of a loop, `if …`, sees the variable.
                let until = over
                    .iter()
                    .position(|word| word.token == TemplateToken::Name("if"))
                    .unwrap_or(over.len());
                self.check_expression(over.get(..until).unwrap_or_default());
                let known = |_| element.clone().filter(|_| names.len() == 1);
                self.scopes
                    .push(names.iter().enumerate().map(|(index, name)| (*name, known(index))).collect());
                self.check_expression(over.get(until..).unwrap_or_default());
            }
            "set" => {
                let equals = rest.iter().position(|word| word.token == TemplateToken::Sign("="));
                let value = equals.and_then(|at| rest.get(at + 1..)).unwrap_or_default();
                self.check_expression(value);
                let known = self.resolve_whole(value);
                let names = rest.get(..equals.unwrap_or(1)).unwrap_or_default();
                for name in names.iter().filter_map(|word| name_of(*word)) {
                    self.bind(name, known.clone().filter(|_| names.len() == 1));
                }
            }
            "with" => {
                self.check_expression(rest);
                let assigned = rest
                    .windows(2)
                    .filter(|pair| pair.get(1).map(|word| word.token) == Some(TemplateToken::Sign("=")));
                let names = assigned.filter_map(|pair| name_of(*pair.first()?));
                self.scopes.push(names.map(|name| (name, None)).collect());
            }
            "macro" => {
                let mut names = rest.iter().filter_map(|word| name_of(*word));
                if let Some(name) = names.next() {
                    self.bind(name, None);
                }
                self.scopes.push(names.map(|name| (name, None)).collect());
            }
            "call" => {
                // What the called macro hands over, if anything, stands in brackets before its name.
                let handed = rest.first().is_some_and(|word| word.token == TemplateToken::Sign("("));
                let names = rest.iter().take_while(|word| word.token != TemplateToken::Sign(")"));
                let names =
                    names.filter(|_| handed).filter_map(|word| name_of(*word)).map(|name| (name, None));
                let names = names.collect();
                self.scopes.push(names);
            }
            "endfor" | "endwith" | "endmacro" | "endcall" => {
                if self.scopes.len() > 1 {
                    self.scopes.pop();
                }
            }
            "filter" => {}
            _ => self.check_expression(rest),
        }
    }

    /// Adds a variable to the innermost scope.
    fn bind(&mut self, name: &'t str, known: VariableSchema<'o>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((name, known));
        }
    }

    /// Checks every name in an expression. Names of filters, tests and options are not looked up.
    fn check_expression(&mut self, words: &[LocatedToken<'t>]) {
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let token =
                |index: Option<usize>| index.and_then(|index| words.get(index)).map(|word| word.token);
            let before = token(at.checked_sub(1));
            let asked = |token| matches!(token, Some(TemplateToken::Name("is")));
            let is_test = asked(before)
                || (before == Some(TemplateToken::Name("not")) && asked(token(at.checked_sub(2))));
            let is_option = token(Some(at + 1)) == Some(TemplateToken::Sign("="));
            match word.token {
                TemplateToken::Name(name)
                    if !KEYWORDS.contains(&name)
                        && !matches!(before, Some(TemplateToken::Sign("|" | ".")))
                        && !is_test
                        && !is_option =>
                {
                    let (steps, length) = access_steps(words.get(at..).unwrap_or_default());
                    self.resolve_name(name, word.at, &steps);
                    at += length;
                }
                _ => at += 1,
            }
        }
    }

    /// Follows a name and the steps behind it, and reports the first of them that the schema does not have.
    ///
    /// Returns the part of the result that it ends at, or `None` if that is not known: the name is the
    /// caller's (`locale`), belongs to a variable of unknown content, or leads to something that the schema
    /// does not describe.
    fn resolve_name(&mut self, name: &'t str, at: usize, steps: &[AccessStep<'t>]) -> VariableSchema<'o> {
        if name == "features" && !self.is_bound(name) {
            if let Some(AccessStep::Member(tag, at)) = steps.first() {
                self.check_feature(tag, *at);
            }
            return None;
        }
        let bound = self.scopes.iter().rev().find_innermost(name);
        let (mut part, mut path) = match bound {
            Some(known) => known?,
            None => {
                let part = self.output?.root();
                if name == "data" {
                    (part, String::new())
                } else if RESERVED_NAMES.contains(&name) || name == "range" || name == "caller" {
                    return None;
                } else {
                    (self.resolve_member(part, "", name, at)?, name.to_owned())
                }
            }
        };
        for step in steps {
            match step {
                AccessStep::Member(name, at) => {
                    part = self.resolve_member(part, &path, name, *at)?;
                    path = if path.is_empty() { (*name).to_owned() } else { format!("{path}.{name}") };
                }
                AccessStep::Element => {
                    part = part.items()?;
                    path.push_str("[]");
                }
            }
        }
        Some((part, path))
    }

    fn is_bound(&self, name: &str) -> bool {
        self.scopes.iter().flatten().any(|(held, _)| *held == name)
    }

    /// Returns the schema of a member. Reports it if there is none and the schema names all members.
    fn resolve_member(
        &mut self,
        part: Subschema<'o>,
        path: &str,
        name: &str,
        at: usize,
    ) -> Option<Subschema<'o>> {
        let found = part.property(name);
        if found.is_none() && part.names_all() {
            let names = part.properties().into_iter().flat_map(|members| members.keys());
            let meant = nearest(name, names.map(String::as_str));
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{}", quote_name(name));
            self.report_finding(at, path, meant, TemplateNameSource::Output);
        }
        found
    }

    /// Reports a name behind `features` that is no known tag. All names that begin with `x-` belong to
    /// vendors and are fine.
    fn check_feature(&mut self, name: &str, at: usize) {
        let own = ["format", "verbosity"];
        if KNOWN_FLAGS.contains(&name) || own.contains(&name) || name.starts_with("x-") {
            return;
        }
        let meant = nearest(name, KNOWN_FLAGS.into_iter().chain(own));
        self.report_finding(
            at,
            format!("features.{}", quote_name(name)),
            meant,
            TemplateNameSource::Features,
        );
    }

    /// Adds a finding, unless it is there already or there are enough.
    fn report_finding(
        &mut self,
        at: usize,
        path: String,
        meant: Option<String>,
        place_of: TemplateNameSource,
    ) {
        let (line, column) = line_and_column(self.source.as_bytes(), at);
        let finding = TemplateNameFinding { line, column, path, meant, place: place_of };
        if self.findings.len() < MAX_TEMPLATE_FINDINGS && !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns what an expression stands for if it is nothing but a name with steps behind it. Reports
    /// nothing: the expression is checked separately.
    fn resolve_whole(&mut self, words: &[LocatedToken<'t>]) -> VariableSchema<'o> {
        let (name, at) = words.first().and_then(|word| Some((name_of(*word)?, word.at)))?;
        let (steps, length) = access_steps(words);
        if length != words.len() {
            return None;
        }
        // Told already, where there was something to tell.
        let told = self.findings.len();
        let known = self.resolve_name(name, at, &steps);
        self.findings.truncate(told);
        known
    }

    /// Returns what the elements are of the list that a loop goes over. Filters that only sort or select
    /// elements are passed through; with any other the elements are not known.
    fn resolve_elements(&mut self, words: &[LocatedToken<'t>]) -> VariableSchema<'o> {
        const SAME: [&str; 7] = ["sort", "reverse", "unique", "select", "reject", "selectattr", "rejectattr"];
        let name = words.first().and_then(|word| name_of(*word))?;
        let (found, length) = access_steps(words);
        let mut rest = words.get(length..).unwrap_or_default();
        loop {
            match rest {
                [] | [LocatedToken { token: TemplateToken::Name("if" | "recursive"), .. }, ..] => break,
                [
                    LocatedToken { token: TemplateToken::Sign("|"), .. },
                    LocatedToken { token: TemplateToken::Name(filter), .. },
                    after @ ..,
                ] if SAME.contains(filter) => {
                    rest = after_brackets(after);
                }
                _ => return None,
            }
        }
        let told = self.findings.len();
        let known = self.resolve_name(name, words.first().map_or(0, |word| word.at), &found);
        self.findings.truncate(told);
        let (part, path) = known?;
        Some((part.items()?, format!("{path}[]")))
    }
}

/// How many findings are returned for one template.
const MAX_TEMPLATE_FINDINGS: usize = 50;

fn name_of(word: LocatedToken<'_>) -> Option<&str> {
    match word.token {
        TemplateToken::Name(name) => Some(name),
        _ => None,
    }
}

/// Returns the steps that follow a name, and how many words they are together with the name. An index that is
/// no literal ends them, and so does a method.
fn access_steps<'t>(words: &[LocatedToken<'t>]) -> (Vec<AccessStep<'t>>, usize) {
    let (mut steps, mut at) = (Vec::new(), 1);
    loop {
        let token = |index: usize| words.get(index).map(|word| word.token);
        let offset = |index: usize| words.get(index).map_or(0, |word| word.at);
        match (token(at), token(at + 1), token(at + 2)) {
            (Some(TemplateToken::Sign(".")), Some(TemplateToken::Name(name)), after) => {
                // A method, which values from outside do not have.
                if after == Some(TemplateToken::Sign("(")) {
                    return (steps, at);
                }
                steps.push(AccessStep::Member(name, offset(at + 1)));
                at += 2;
            }
            (
                Some(TemplateToken::Sign("[")),
                Some(TemplateToken::Text(name)),
                Some(TemplateToken::Sign("]")),
            ) if !name.contains('\\') => {
                steps.push(AccessStep::Member(name, offset(at + 1) + 1));
                at += 3;
            }
            (Some(TemplateToken::Sign("[")), Some(TemplateToken::Number), Some(TemplateToken::Sign("]"))) => {
                steps.push(AccessStep::Element);
                at += 3;
            }
            _ => return (steps, at),
        }
    }
}

/// Returns the words behind a pair of round brackets, if the words begin with one.
fn after_brackets<'w, 't>(words: &'w [LocatedToken<'t>]) -> &'w [LocatedToken<'t>] {
    if words.first().map(|word| word.token) != Some(TemplateToken::Sign("(")) {
        return words;
    }
    let mut open = 0_usize;
    for (index, word) in words.iter().enumerate() {
        match word.token {
            TemplateToken::Sign("(") => open += 1,
            TemplateToken::Sign(")") => open = open.saturating_sub(1),
            _ => {}
        }
        if open == 0 {
            return words.get(index + 1..).unwrap_or_default();
        }
    }
    &[]
}

/// Looks up the innermost variable of a name, in scopes that come innermost first.
trait ScopeLookup<'o> {
    fn find_innermost(self, name: &str) -> Option<VariableSchema<'o>>;
}

impl<'s, 't: 's, 'o: 's, I: Iterator<Item = &'s Vec<(&'t str, VariableSchema<'o>)>>> ScopeLookup<'o> for I {
    fn find_innermost(mut self, name: &str) -> Option<VariableSchema<'o>> {
        self.find_map(|scope| {
            scope.iter().rev().find(|(held, _)| *held == name).map(|(_, known)| known.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r##"{"type":"object","properties":{
        "city":{"type":"string"},
        "wind":{"$ref":"#/$defs/wind"},
        "days":{"type":"array","items":{"type":"object","additionalProperties":false,"properties":{
            "high":{"type":"number"},"hours":{"type":"array","items":{"properties":{"at":{}}}}}}},
        "free":{"type":"object"},
        "open":{"type":"object","properties":{"known":{}},"additionalProperties":true}
        },"$defs":{"wind":{"type":"object","properties":{"speed":{},"from":{}}}}}"##;

    /// What is told of a template: line, column and path.
    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let output = CompiledSchema::read(SCHEMA).unwrap();
        let findings = Template::compile("md", source).unwrap().check(Some(&output));
        let told: Vec<_> =
            findings.iter().map(|it| format!("{}:{} {}", it.line, it.column, it.path)).collect();
        assert_eq!(told, expected, "{source}");
    }

    #[test]
    fn what_the_schema_has_is_fine() {
        for source in [
            "{{ city }} {{ wind.speed }} {{ data.wind['from'] }} {{ days[0].high }}",
            "{{ free.anything.goes }} {{ open.unknown }} {{ city | default('x') }}",
            "{% for day in days %}{{ loop.index }} {{ day.high }}{% for hour in day.hours %}{{ hour.at }}{% endfor %}{% endfor %}",
            "{% for day in days | sort(attribute='high') | reverse if day.high > 3 %}{{ day.high }}{% else %}-{% endfor %}",
            "{% set w = wind %}{{ w.speed }}{% set x = 1 %}{{ x.y }}",
            "{% with a = wind.speed, b = 2 %}{{ a }}{{ b.c }}{% endwith %}",
            "{% macro row(cell, other=1) %}{{ cell.any }}{{ other }}{% endmacro %}{{ row(city) }}",
            "{% for key, value in wind | items %}{{ key }}{{ value.x }}{% endfor %}",
            "{{ arguments.anything }} {{ locale }} {{ language }} {{ timezone }} {{ now | date }}",
            "{% if features.sampling and features['x-acme'] == 'gold' %}{% endif %}",
            "{{ range(3) | join }} {{ city is defined }} {{ city is not none }}",
            "{% for wind in days %}{{ wind.high }}{% endfor %}",
            "{% raw %}{{ nothing }}{% endraw %}{# {{ nothing }} #}",
        ] {
            check(source, &[]);
        }
    }

    #[test]
    fn what_the_schema_does_not_have_is_told_with_its_place() {
        check("{{ citty }}", &["1:4 citty"]);
        check("a\n  {{ wind.sped }} {{ data.nothing.more }}", &["2:11 wind.sped", "2:27 nothing"]);
        check("{% if cty %}{% elif days[0].low %}{% endif %}", &["1:7 cty", "1:29 days[].low"]);
        check(
            "{% for day in days %}{{ day.low }}{% for hour in day.hours if hour.on %}{% endfor %}{% endfor %}",
            &["1:29 days[].low", "1:68 days[].hours[].on"],
        );
        check("{% for d in dayz %}{{ d.x }}{% endfor %}", &["1:13 dayz"]);
        check("{% set w = wind %}{{ w.sped }}", &["1:24 wind.sped"]);
        check("{{ 'k' | t(count=cty) }}", &["1:18 cty"]);
        check("{% for wind in days %}{% endfor %}{{ wind.high }}", &["1:43 wind.high"]);
        check(
            "{{ features.samplin }} {{ features['y-acme'] }}",
            &["1:13 features.samplin", "1:37 features.y-acme"],
        );
    }

    #[test]
    fn without_a_schema_only_tags_are_looked_at() {
        let template = Template::compile("md", "{{ anything }} {{ features.agnt }}").unwrap();
        let told: Vec<String> = template.check(None).iter().map(ToString::to_string).collect();
        assert_eq!(told, ["`features.agnt` is no tag that callers can say; did you mean `agent`?"]);
    }
}
