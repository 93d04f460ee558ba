//! `[resources."URI"]` and `[prompts.NAME]`, and how paths of templates are written.
//!
//! Templates are named by a *stem*: `templates/get_weather` stands for `templates/get_weather.md`,
//! `templates/get_weather.compact.md` and so on, each for another kind of caller.

use std::path::{Path, PathBuf};

use super::findings::ConfigProblem;
use super::reader::{ConfigTableReader, TomlValue, parse_nonempty, text};

/// The settings of one resource or prompt: the templates that its text is written with. Rules: F11.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct TemplatesConfig {
    /// The stem of the templates. Always there in a file without findings.
    pub templates: Option<PathBuf>,
}

impl TemplatesConfig {
    /// Reads the table, which must say something.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>) -> Self {
        let shaped = Self { templates: reader.optional("templates", parse_template_stem) };
        if !reader.has("templates") {
            reader.report_table("says nothing", "add `templates = \"templates/NAME\"`, or take it out");
        }
        shaped
    }

    /// Resolves the path from a folder, if it is relative.
    pub(super) fn within(&mut self, folder: &Path) {
        within(&mut self.templates, folder);
    }
}

/// Resolves a path from a folder, if it is relative.
pub(super) fn within(path: &mut Option<PathBuf>, folder: &Path) {
    if let Some(path) = path {
        *path = folder.join(&path);
    }
}

/// Parses a stem. The path of a folder or of a single template file is refused, with a hint what the stem
/// would be.
pub(super) fn parse_template_stem(value: &TomlValue<'_>) -> Result<PathBuf, ConfigProblem> {
    let text = parse_nonempty(text(value)?)?;
    let path = PathBuf::from(&text);
    if text.ends_with(['/', '\\']) || path.file_name().is_none() {
        let hint = "write what the files begin with: \"templates/get_weather\" for templates/get_weather.md";
        return Err(ConfigProblem::new("names a folder", hint));
    }
    match path.extension().and_then(|end| end.to_str()) {
        Some(end @ ("md" | "txt" | "json" | "hints")) => {
            let stem = text.strip_suffix(end).and_then(|stem| stem.strip_suffix('.')).unwrap_or(&text);
            let hint = format!(
                "write \"{}\"; the ends of names tell templates apart",
                super::findings::quoted(stem)
            );
            Err(ConfigProblem::new("names one file", hint))
        }
        _ => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeValue;

    use super::*;

    #[test]
    fn a_stem_is_what_files_begin_with() {
        let check = |text: &str| parse_template_stem(DeValue::parse(text).unwrap().get_ref());
        assert_eq!(check("'templates/get_weather'"), Ok(PathBuf::from("templates/get_weather")));
        assert_eq!(check("'v1.2'"), Ok(PathBuf::from("v1.2")));
        for (text, what, hint) in [
            ("''", "is empty", "write something, or leave it out"),
            ("'templates/'", "names a folder", "write what the files begin with"),
            ("'..'", "names a folder", "write what the files begin with"),
            ("'a/b.md'", "names one file", "write \"a/b\"; the ends of names tell templates apart"),
            ("'b.compact.txt'", "names one file", "write \"b.compact\""),
        ] {
            let problem = check(text).unwrap_err();
            assert_eq!(problem.what, what, "{text}");
            assert!(problem.hint.starts_with(hint), "{text}: {}", problem.hint);
        }
    }
}
