//! The first page of help: the commands in groups, by what they are for.

use clap::Command;

/// The groups. clap has no headings for commands, so the list is made here; a test compares it with the commands.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Find bugs", &["fuzz", "run", "check", "beside", "list"]),
    ("Understand them", &["explain", "explore", "replay", "shrink", "lasso"]),
    ("Keep them fixed", &["corpus"]),
    ("Measure", &["suite", "experiment", "tune", "report", "compare", "speed"]),
    ("Scale out", &["plan", "shard", "merge"]),
    ("Set up", &["new", "completions", "man"]),
];

/// The command with its list of commands in groups.
pub(crate) fn grouped(command: Command) -> Command {
    let (header, literal) = (*command.get_styles().get_header(), *command.get_styles().get_literal());
    let width = command.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or_default();
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        format!("  {literal}{name:width$}{literal:#}  {}\n", about.unwrap_or_default())
    };
    let group = |(title, names): &(&str, &[&str])| {
        format!("\n{header}{title}:{header:#}\n{}", names.iter().map(line).collect::<String>())
    };
    let groups: String = GROUPS.iter().map(group).collect();
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        let real: BTreeSet<&str> = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(Command::get_name)
            .collect();
        let listed: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(listed.len(), real.len(), "one of them is listed twice");
        assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), real);
    }

    #[test]
    fn the_first_page_fits_a_terminal() {
        let page = grouped(Cli::command().term_width(80)).render_help().to_string();
        for line in page.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
