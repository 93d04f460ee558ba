//! Hints for the model behind a caller: one on each line, each a template of its own.

use super::compiled::Template;
use super::context::TemplateContext;
use super::error::{TemplateCompileError, TemplateRenderError};
use crate::compiled_schema::CompiledSchema;

/// The hints that an operator wrote for the results of one tool.
///
/// They are added to results for callers that declared `sampling`: as `hints` in the structured content if
/// the schema allows that, else as a text block.
///
/// 1. Every line is a template with the variables and filters of any other. Empty lines, and lines that begin
///    with `#`, are none.
/// 2. A hint that renders to nothing is left out: `{% if temperature_c < 0 %}It freezes.{% endif %}`
///
/// Rules: F10.
///
/// ```
/// use jiff::{Timestamp, tz::TimeZone};
/// use mcp_attune::features::FeaturePreferences;
/// use mcp_attune_shape::template::{ToolHints, TemplateContext};
/// use mcp_attune_wire::message::Message;
///
/// let hints = ToolHints::compile("{% if c < 0 %}It freezes.{% endif %}\n{{ c }} degrees suggest a coat.\n").unwrap();
/// let values = mcp_attune_format::english().for_locales([], TimeZone::UTC);
/// let data = Message::parse(br#"{"c":8}"#).unwrap();
/// let wanted = FeaturePreferences::default();
/// let (said, failed) = hints.render(&TemplateContext::new(data.body(), &wanted, &values, Timestamp::UNIX_EPOCH));
/// assert_eq!((said, failed.len()), (vec!["8 degrees suggest a coat.".to_owned()], 0));
/// ```
#[derive(Debug, Default)]
pub struct ToolHints {
    /// The hints, each with its line in the file, counted from 1.
    lines: Vec<(usize, Template)>,
}

impl ToolHints {
    /// How many hints are read from one file.
    pub const MAX_HINTS: usize = 100;

    /// Compiles the hints of a file. Lines after the first [`ToolHints::MAX_HINTS`] hints are ignored.
    ///
    /// # Errors
    ///
    /// [`TemplateCompileError`] says what is wrong first, and where. One broken hint refuses the whole file.
    pub fn compile(source: &str) -> Result<Self, TemplateCompileError> {
        let written = source.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let written = written.filter(|(_, line)| !line.is_empty() && !is_comment(line)).take(Self::MAX_HINTS);
        let compile = |(number, line)| match Template::compile("txt", line) {
            Ok(template) => Ok((number, template)),
            Err(wrong) => Err(TemplateCompileError { line: number, ..wrong }),
        };
        Ok(Self { lines: written.map(compile).collect::<Result<_, _>>()? })
    }

    /// Renders the hints for one result, and returns them in their order with the errors of those that
    /// failed. A hint that fails does not affect the others. The line of an error is that of the hint in its
    /// file.
    #[must_use]
    pub fn render(&self, scene: &TemplateContext<'_>) -> (Vec<String>, Vec<TemplateRenderError>) {
        self.render_each(|template| Some(template.render(scene))).unwrap_or_default()
    }

    /// Renders the hints if that is short work for each of them; `None` if one of them may take longer.
    pub(crate) fn render_if_short(
        &self,
        scene: &TemplateContext<'_>,
    ) -> Option<(Vec<String>, Vec<TemplateRenderError>)> {
        self.render_each(|template| template.render_if_short(scene))
    }

    fn render_each(
        &self,
        render: impl Fn(&Template) -> Option<Result<String, TemplateRenderError>>,
    ) -> Option<(Vec<String>, Vec<TemplateRenderError>)> {
        let (mut hints, mut failed) = (Vec::new(), Vec::new());
        for (number, template) in &self.lines {
            match render(template)? {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => hints.push(text.trim().to_owned()),
                Err(why) => failed.push(TemplateRenderError { line: Some(*number), ..why }),
            }
        }
        Some((hints, failed))
    }

    /// Finds names in the hints that a result with this schema does not have: see [`Template::check`]. Lines
    /// are those of the file, columns those of the hint.
    #[must_use]
    pub fn check(&self, output: Option<&CompiledSchema>) -> Vec<super::TemplateNameFinding> {
        let told = |(number, template): &(usize, Template)| {
            let number = *number;
            template
                .check(output)
                .into_iter()
                .map(move |finding| super::TemplateNameFinding { line: number, ..finding })
        };
        self.lines.iter().flat_map(told).collect()
    }

    /// Returns the names of the vendors' tags that the hints ask for.
    ///
    /// Rules: F3.
    pub fn vendors(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().flat_map(|(_, template)| template.vendors())
    }

    /// Returns whether there is no hint.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

/// Returns whether a line is a note for those who read the file.
fn is_comment(line: &str) -> bool {
    line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let wrong = ToolHints::compile("fine\n\n# {{ a note\n{{ broken").unwrap_err();
        assert_eq!(wrong.line, 4);
        let wrong = ToolHints::compile("fine\n{{ x | nmber }}").unwrap_err();
        assert_eq!((wrong.line, wrong.column, wrong.hint().as_str()), (2, 8, "did you mean `number`?"));
    }

    #[test]
    fn no_more_hints_are_read_than_anyone_needs() {
        assert_eq!(ToolHints::compile(&"hint\n".repeat(1000)).unwrap().lines.len(), ToolHints::MAX_HINTS);
        assert!(ToolHints::compile("\n# nothing\n").unwrap().is_empty());
    }
}
