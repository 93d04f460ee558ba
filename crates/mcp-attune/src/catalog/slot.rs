//! Where a text belongs: its place in a locale file, and with it the thing that it is a text of.

use core::fmt;

use mcp_attune_wire::text;

/// Which text of a thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LocaleField {
    /// What people see in menus and lists.
    Title,
    /// What a model reads to choose.
    Description,
    /// What a server tells a model about itself.
    Instructions,
    /// What people see while a tool runs.
    Invoking,
    /// What people see when it is done.
    Invoked,
}

impl LocaleField {
    /// Its name in locale files, and on the wire but for [`Invoking`](Self::Invoking) and [`Invoked`](Self::Invoked).
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Description => "description",
            Self::Instructions => "instructions",
            Self::Invoking => "invoking",
            Self::Invoked => "invoked",
        }
    }
}

/// One text of a named thing.
///
/// ```
/// use mcp_attune::catalog::{LocaleField, TextSlot};
///
/// let slot = TextSlot::Argument { tool: "get_weather", path: "location", field: LocaleField::Title };
/// assert_eq!(slot.path().to_string(), "tools.get_weather.arguments.location.title");
/// let slot = TextSlot::Resource("map://a", LocaleField::Title);
/// assert_eq!(slot.path().to_string(), "resources[\"map://a\"].title");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextSlot<'a> {
    /// Of the server itself.
    Server(LocaleField),
    /// Of a tool, by its name.
    Tool(&'a str, LocaleField),
    /// Of something in a tool's `inputSchema`.
    Argument {
        /// The tool's name.
        tool: &'a str,
        /// The way through the schema: `filter.city`, `stops[].name`.
        path: &'a str,
        /// Which text.
        field: LocaleField,
    },
    /// Of something in a tool's `outputSchema`.
    Output {
        /// The tool's name.
        tool: &'a str,
        /// The way through the schema.
        path: &'a str,
        /// Which text.
        field: LocaleField,
    },
    /// Of a prompt, by its name.
    Prompt(&'a str, LocaleField),
    /// Of an argument of a prompt.
    PromptArgument {
        /// The prompt's name.
        prompt: &'a str,
        /// The argument's name.
        argument: &'a str,
        /// Which text.
        field: LocaleField,
    },
    /// Of a resource, by its URI.
    Resource(&'a str, LocaleField),
    /// Of a resource template, by its URI template.
    ResourceTemplate(&'a str, LocaleField),
}

impl TextSlot<'_> {
    /// Its place in a locale file.
    #[must_use]
    pub fn path(self) -> LocaleKeyPath {
        let path = |segments: &[&str], field: LocaleField| {
            LocaleKeyPath(segments.iter().chain(&[field.as_str()]).map(|segment| (*segment).into()).collect())
        };
        match self {
            Self::Server(field) => path(&["server"], field),
            Self::Tool(tool, field) => path(&["tools", tool], field),
            Self::Argument { tool, path: inner, field } => path(&["tools", tool, "arguments", inner], field),
            Self::Output { tool, path: inner, field } => path(&["tools", tool, "output", inner], field),
            Self::Prompt(prompt, field) => path(&["prompts", prompt], field),
            Self::PromptArgument { prompt, argument, field } => {
                path(&["prompts", prompt, "arguments", argument], field)
            }
            Self::Resource(uri, field) => path(&["resources", uri], field),
            Self::ResourceTemplate(template, field) => path(&["resource_templates", template], field),
        }
    }
}

/// The member of an output field that holds its translated values.
pub(super) const VALUES: &str = "values";

/// Which value of which result field a translation is for.
///
/// Rules: L22.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ValuePath<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The way to the field through the result: `wind_direction`, `forecast[].conditions`.
    pub field: &'a str,
    /// The value as the server writes it, with variable parts in braces.
    pub source: &'a str,
}

/// The names that lead to a place in a locale file; shown as `tools.get_weather.title`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LocaleKeyPath(Vec<Box<str>>);

impl LocaleKeyPath {
    /// The names, from the outside in.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.0.iter().map(|name| &**name)
    }

    /// The place of this name inside this one.
    #[must_use]
    pub fn with(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.into()]).collect())
    }

    /// The place of a translated value: `tools.NAME.output.FIELD.values.SOURCE`.
    ///
    /// Rules: L22.
    #[must_use]
    pub fn of_value(tool: &str, field: &str, source: &str) -> Self {
        Self(["tools", tool, "output", field, VALUES, source].map(Into::into).to_vec())
    }

    /// The parts of the path of a translated value. Returns `None` for the path of any other text.
    #[must_use]
    pub fn as_value(&self) -> Option<ValuePath<'_>> {
        match self.0.as_slice() {
            [section, tool, group, field, values, source]
                if &**section == "tools" && &**group == "output" && &**values == VALUES =>
            {
                Some(ValuePath { tool, field, source })
            }
            _ => None,
        }
    }

    /// The place without its last name, and that name.
    pub(super) fn split_last(&self) -> Option<(Self, &str)> {
        let (last, before) = self.0.split_last()?;
        Some((Self(before.to_vec()), last))
    }
}

/// Names that hold more than letters, digits, `-` and `_` are quoted, and long ones shortened.
impl fmt::Display for LocaleKeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MAX_SHOWN_CHARS: usize = 60;
        if self.0.is_empty() {
            return f.write_str("the file");
        }
        for (at, name) in self.names().enumerate() {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
            if !name.is_empty() && name.len() <= MAX_SHOWN_CHARS && name.bytes().all(plain) {
                f.write_str(if at == 0 { "" } else { "." })?;
                f.write_str(name)?;
                continue;
            }
            // The quotation marks around it are ours.
            let shown = text::escape_and_truncate(name, MAX_SHOWN_CHARS).replace('"', "\\\"");
            write!(f, "[\"{shown}\"]")?;
        }
        Ok(())
    }
}
