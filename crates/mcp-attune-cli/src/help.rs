//! The help of `attune` itself: its commands in groups, with what a newcomer needs first.

use std::fmt::Write;

use clap::Command;

/// The commands by what they are for, in the order in which they are listed. A command has to stand in one of the groups; a name
/// that no command has is left out.
pub(crate) const GROUPS: [(&str, &[&str]); 7] = [
    ("Try", &["demo", "init"]),
    ("Serve", &["serve", "stdio", "envoy", "config", "doctor", "install", "uninstall"]),
    ("Ask", &["discover", "tools", "call", "resources", "read", "prompts", "prompt"]),
    ("Judge", &["check", "audit"]),
    ("Translate", &["catalog", "template"]),
    ("Bundle", &["bundle"]),
    ("Learn", &["explain", "language", "context", "features", "clients", "completions", "man"]),
];

/// Lists the commands in their groups.
pub(crate) fn group_commands(command: Command) -> Command {
    let header = *command.get_styles().get_header();
    let literal = *command.get_styles().get_literal();
    let widest = command.get_subcommands().map(|it| it.get_name().len()).max().unwrap_or_default();
    let mut list = String::new();
    for (title, names) in GROUPS {
        let known = names.iter().filter_map(|name| command.find_subcommand(name)).collect::<Vec<_>>();
        if known.is_empty() {
            continue;
        }
        let _ = writeln!(list, "{header}{title}:{header:#}");
        for it in known {
            let (name, about) = (it.get_name(), it.get_about().map(ToString::to_string).unwrap_or_default());
            let _ = writeln!(list, "  {literal}{name:<widest$}{literal:#}  {about}");
        }
        list.push('\n');
    }
    let options = format!("{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{list}{options}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::AttuneArgs;

    #[test]
    fn every_command_stands_in_one_group() {
        for command in AttuneArgs::command().get_subcommands() {
            let name = command.get_name();
            let times = GROUPS.iter().flat_map(|(_, names)| *names).filter(|known| **known == name).count();
            assert_eq!(
                times, 1,
                "`attune {name}` stands in {times} of the GROUPS of help.rs; write it into one"
            );
        }
    }

    #[test]
    fn what_is_for_newcomers_stands_first_and_nothing_is_lost() {
        let mut command = group_commands(AttuneArgs::command());
        let help = command.render_help().to_string();
        let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text} is missing:\n{help}"));
        assert!(at("Try:\n  demo ") < at("Serve:\n  serve ") && at("Learn:\n  explain ") < at("Options:\n"));
        for command in command.get_subcommands().filter(|it| it.get_name() != "help") {
            let line = format!("\n  {} ", command.get_name());
            assert_eq!(help.matches(&line).count(), 1, "{line}{help}");
        }
    }
}
