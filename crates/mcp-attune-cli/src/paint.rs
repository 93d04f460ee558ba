//! Colours and weights, where they are wanted.
//!
//! 1. `--color always` and `--color never` win. Without them nothing is coloured where `NO_COLOR` is set and not empty,
//!    everything is where `CLICOLOR_FORCE` is set and is neither empty nor `0`, and else what a terminal shows is.
//! 2. A terminal that says `TERM=dumb`, or nothing, gets no escape code at all: no colours, and no line that is written over.
//!
//! A command paints what it prints with [`stdout`] and [`stderr`]:
//! `writeln!(out, "{}", paint::stdout().paint(PaintStyle::Good, "passed"))`. In a pipe the text comes out as it went in.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

/// When something is coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ColorMode {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// In a pipe too.
    Always,
    /// Nowhere.
    Never,
}

/// What a piece of text is; the colours belong together, so they are chosen here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PaintStyle {
    /// `error:`, and what is wrong.
    Bad,
    /// `warning:`, and what may be wrong.
    Doubtful,
    /// What is right.
    Good,
    /// `hint:` and `note:`.
    Hint,
    /// The heads of tables, headings, names.
    Strong,
    /// A heading of the first order.
    Underlined,
    /// Emphasis, and code within text.
    Emphasis,
    /// What stands aside: the words of a program, what is left out.
    Aside,
    /// The name of a JSON member.
    Member,
    /// A JSON string.
    Text,
    /// A JSON number, `true`, `false` and `null`.
    Literal,
}

impl PaintStyle {
    /// The escape code that begins it.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Bad => "\u{1b}[1;31m",
            Self::Doubtful => "\u{1b}[1;33m",
            Self::Good | Self::Text => "\u{1b}[32m",
            Self::Hint => "\u{1b}[36m",
            Self::Strong => "\u{1b}[1m",
            Self::Underlined => "\u{1b}[4m",
            Self::Emphasis => "\u{1b}[3m",
            Self::Aside => "\u{1b}[2m",
            Self::Member => "\u{1b}[34m",
            Self::Literal => "\u{1b}[33m",
        }
    }
}

/// The escape code that ends every style.
pub(crate) const STYLE_END: &str = "\u{1b}[0m";

/// Paints, or does not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Paints nothing.
    #[cfg(test)]
    pub(crate) const NONE: Self = Self { on: false };

    /// Paints nothing, or everything.
    #[cfg(test)]
    pub(crate) fn new(on: bool) -> Self {
        Self { on }
    }

    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    /// Text in a style.
    pub(crate) fn paint(self, style: PaintStyle, text: &str) -> String {
        if self.on && !text.is_empty() {
            format!("{}{text}{STYLE_END}", style.code())
        } else {
            text.to_owned()
        }
    }
}

static COLOR_MODE: OnceLock<ColorMode> = OnceLock::new();

/// What the command line chooses, once.
pub(crate) fn set_color_mode(when: ColorMode) {
    let _ = COLOR_MODE.set(when);
}

/// How standard output is painted.
pub(crate) fn stdout() -> Paint {
    paint_for(std::io::stdout().is_terminal())
}

/// How standard error is painted.
pub(crate) fn stderr() -> Paint {
    paint_for(std::io::stderr().is_terminal())
}

fn paint_for(terminal: bool) -> Paint {
    let choice = COLOR_MODE.get().copied().unwrap_or_default();
    Paint { on: is_on(choice, terminal, |name| std::env::var_os(name)) }
}

fn is_on(when: ColorMode, terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    let forced = variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    match when {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto if set("NO_COLOR") => false,
        ColorMode::Auto => forced || (terminal && !is_dumb(variable("TERM"))),
    }
}

/// Whether the terminal can show nothing but text.
pub(crate) fn terminal_is_dumb() -> bool {
    is_dumb(std::env::var_os("TERM"))
}

fn is_dumb(term: Option<OsString>) -> bool {
    // Windows has no such variable, and terminals that know what to do.
    term.map_or(!cfg!(windows), |term| term.is_empty() || term == "dumb")
}

/// What `--color` says among the words of a command line that is not read yet, so that what is wrong with the others is
/// told in colours or not.
pub(crate) fn color_mode_in_words(words: impl IntoIterator<Item = OsString>) -> ColorMode {
    let words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    let mut words = words.take_while(|word| word != "--");
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        match value.as_deref() {
            Some("always") => return ColorMode::Always,
            Some("never") => return ColorMode::Never,
            _ => {}
        }
    }
    ColorMode::Auto
}

impl From<ColorMode> for clap::ColorChoice {
    fn from(when: ColorMode) -> Self {
        match when {
            ColorMode::Auto => Self::Auto,
            ColorMode::Always => Self::Always,
            ColorMode::Never => Self::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_wins_over_the_environment_and_that_over_the_terminal() {
        let check = |when, terminal, variables: &[(&str, &str)], expected| {
            let variable = |name: &str| {
                variables.iter().find(|(found, _)| *found == name).map(|(_, value)| OsString::from(value))
            };
            assert_eq!(is_on(when, terminal, variable), expected, "{when:?} {terminal} {variables:?}");
        };
        let xterm = ("TERM", "xterm");
        check(ColorMode::Auto, true, &[xterm], true);
        check(ColorMode::Auto, false, &[xterm], false);
        check(ColorMode::Auto, true, &[("TERM", "dumb")], false);
        check(ColorMode::Auto, true, &[], cfg!(windows));
        check(ColorMode::Auto, true, &[xterm, ("NO_COLOR", "1")], false);
        check(ColorMode::Auto, true, &[xterm, ("NO_COLOR", "")], true);
        check(ColorMode::Auto, false, &[("CLICOLOR_FORCE", "1")], true);
        check(ColorMode::Auto, false, &[("CLICOLOR_FORCE", "0")], false);
        check(ColorMode::Auto, false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false);
        check(ColorMode::Always, false, &[("NO_COLOR", "1")], true);
        check(ColorMode::Never, true, &[xterm, ("CLICOLOR_FORCE", "1")], false);
    }

    #[test]
    fn a_choice_is_found_before_the_command_line_is_read() {
        let check = |words: &[&str], expected| {
            assert_eq!(color_mode_in_words(words.iter().map(OsString::from)), expected, "{words:?}");
        };
        check(&["attune", "tools", "--color=never", "--nonsense"], ColorMode::Never);
        check(&["attune", "--color", "always"], ColorMode::Always);
        check(&["attune", "--colour", "always"], ColorMode::Auto);
        check(&["attune", "tools", "--", "server", "--color=never"], ColorMode::Auto);
    }
}
