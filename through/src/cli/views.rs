//! Arguments that follow from the registry of views: which view, in which format.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command as Clap, Error, FromArgMatches};

use crate::document::Format;
use crate::views::{self, Asked, Flag, View};

/// The view that flags choose among those of a command.
#[derive(Clone, Copy)]
pub struct Chosen<const COMMAND: usize>(pub &'static View);

pub type LayersView = Chosen<LAYERS>;

/// The commands that have several views.
pub const SHOW: usize = 0;
pub const LAYERS: usize = 1;
pub const COMMS: usize = 2;
pub const WAITS: usize = 3;
pub const SITES: usize = 4;

pub const COMMANDS: [&str; 5] = ["", "layers", "comms", "waits", "sites"];
const HEADINGS: [&str; 5] = [
    "Views (default: operations of each communicator)",
    "Views (default: top contributors)",
    "Views (default: time per communicator)",
    "Views (default: waiting per call)",
    "Views (default: flat list of lines)",
];

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
        Flag::Default => None,
    }
}

impl<const COMMAND: usize> Args for Chosen<COMMAND> {
    fn augment_args(mut command: Clap) -> Clap {
        let mut options: Vec<&str> = Vec::new();
        let all = || views::of(COMMANDS[COMMAND]);
        let ids: Vec<&str> = all().filter_map(id).collect();
        for view in all() {
            let Some(name) = id(view) else { continue };
            let others = ids.iter().filter(|other| **other != name).chain(view.lacks);
            let arg = Arg::new(name).help_heading(HEADINGS[COMMAND]).conflicts_with_all(others.collect::<Vec<_>>());
            let arg = match view.flag {
                Flag::Switch { short, long } => arg.short(short).long(long).action(ArgAction::SetTrue).help(view.help),
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
                Flag::Default => continue,
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
            Flag::Option { option, value } => matches.get_one::<String>(option).is_some_and(|asked| asked == value),
        };
        Ok(views::of(COMMANDS[COMMAND]).find(is_asked).map_or_else(Self::default, Chosen))
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
