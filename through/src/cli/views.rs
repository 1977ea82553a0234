//! Arguments that follow from the registry of views: which view, in which format.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command as Clap, Error, FromArgMatches};

use crate::document::Format;
use crate::views::{self, Asked, Flag, View};

/// The view that flags choose among those of a command.
#[derive(Clone, Copy)]
pub struct Chosen<const COMMAND: usize>(pub &'static View);

/// Views of `through` itself, and of `through layers`.
pub type ShowView = Chosen<0>;
pub type LayersView = Chosen<1>;

const COMMANDS: [&str; 2] = ["", "layers"];
const HEADINGS: [&str; 2] = ["Views (default: operations of each communicator)", "Views (default: top contributors)"];

impl<const COMMAND: usize> Default for Chosen<COMMAND> {
    fn default() -> Self {
        Chosen(View::usual(COMMANDS[COMMAND]))
    }
}

impl<const COMMAND: usize> std::fmt::Debug for Chosen<COMMAND> {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(self.0.name)
    }
}

fn id(view: &View) -> Option<&'static str> {
    match view.flag {
        Flag::Switch { long, .. } => Some(long),
        Flag::Option { option, .. } => Some(option),
        Flag::Default | Flag::With { .. } => None,
    }
}

impl<const COMMAND: usize> Args for Chosen<COMMAND> {
    fn augment_args(mut command: Clap) -> Clap {
        let mut options: Vec<&str> = Vec::new();
        let all = || views::of(COMMANDS[COMMAND]);
        let ids: Vec<&str> = all().filter_map(id).collect();
        for view in all() {
            let Some(name) = id(view) else { continue };
            let go_together = |one: &str, other: &str| {
                let is_pair =
                    |(first, second): (&str, &str)| (one, other) == (first, second) || (other, one) == (first, second);
                all().any(|view| matches!(view.flag, Flag::With { long, other } if is_pair((long, other))))
            };
            let is_other = |other: &&&str| **other != name && !go_together(name, other);
            let others = ids.iter().filter(is_other).chain(view.lacks);
            let arg = Arg::new(name).help_heading(HEADINGS[COMMAND]).conflicts_with_all(others.collect::<Vec<_>>());
            let arg = match view.flag {
                Flag::Switch { short, long, alias } => {
                    arg.short(short).long(long).aliases(alias).action(ArgAction::SetTrue).help(view.help)
                }
                Flag::Option { option, .. } if options.contains(&option) => continue,
                Flag::Option { option, .. } => {
                    options.push(option);
                    let values = all().filter_map(|view| match view.flag {
                        Flag::Option { option: of, value } if of == option => Some((value, view.help)),
                        _ => None,
                    });
                    let values: Vec<(&str, &str)> = values.collect();
                    let help: Vec<String> = values.iter().map(|(value, help)| format!("{value}: {help}")).collect();
                    let names = values.iter().map(|(value, _)| *value);
                    let parser = PossibleValuesParser::new(names);
                    arg.long(option).value_name("WHAT").help(help.join("; ")).value_parser(parser)
                }
                Flag::Default | Flag::With { .. } => continue,
            };
            command = command.arg(arg);
        }
        command
    }

    fn augment_args_for_update(command: Clap) -> Clap {
        Self::augment_args(command)
    }
}

impl<const COMMAND: usize> FromArgMatches for Chosen<COMMAND> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_asked = |view: &&View| match view.flag {
            Flag::Default => false,
            Flag::Switch { long, .. } => matches.get_flag(long),
            Flag::With { long, other } => matches.get_flag(long) && matches.get_flag(other),
            Flag::Option { option, value } => matches.get_one::<String>(option).is_some_and(|asked| asked == value),
        };
        // Of two switches together each would be another view alone.
        let (pairs, single): (Vec<&View>, Vec<&View>) =
            views::of(COMMANDS[COMMAND]).partition(|view| matches!(view.flag, Flag::With { .. }));
        Ok(pairs.into_iter().chain(single).find(is_asked).map_or_else(Self::default, Chosen))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The formats in which a command writes any of its views. `through` and `through layers` write the same.
pub fn formats<Q: Asked + 'static>(
    views: impl IntoIterator<Item = &'static View<Q>>,
) -> impl TypedValueParser<Value = Format> {
    let mut names: Vec<&'static str> = Vec::new();
    for format in views.into_iter().flat_map(View::written_as) {
        if !names.contains(&format.name()) {
            names.push(format.name());
        }
    }
    PossibleValuesParser::new(names).try_map(|name| {
        Format::of(&name).ok_or_else(|| Error::raw(ErrorKind::InvalidValue, format!("no format '{name}'")))
    })
}
