//! `turncoat.toml`: the options of `fuzz` and `run`, in a file.
//!
//! A configuration is a stack of layers, each a list of paths (`network.loss`) with values: the file, a profile of
//! it, the environment, the command line. The later goes before the earlier, key by key. But keys of `[protocol]` and
//! `[strategy]` belong to the one that is named there: a layer that names another one drops them.

use std::collections::BTreeMap;
use std::env::{self, VarError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use toml::{Table, Value};
use turncoat_core::scenario::{SCHEMA, Scenario};

use crate::campaign::Keys;
use crate::config_file::File;
use crate::setup::{Prepared, Setup, value};
use crate::{out, registry};

/// The file that is read where no other is named.
const FILE: &str = "turncoat.toml";

/// Which file, and what to do with it.
#[derive(Args)]
pub(crate) struct Source {
    /// Read the configuration from here [default: turncoat.toml, if there is one]
    #[arg(long, value_name = "FILE", help_heading = "Configuration")]
    config: Option<PathBuf>,

    /// Use the tables [profile.NAME.*] of the configuration, too
    #[arg(long, value_name = "NAME", help_heading = "Configuration")]
    profile: Option<String>,

    /// Print the resulting configuration with the origin of each value, and run nothing
    #[arg(long, help_heading = "Configuration")]
    pub(crate) print_config: bool,
}

/// What the command line says itself.
pub(crate) struct Given<'a> {
    pub(crate) protocol: Option<&'a str>,
    pub(crate) strategy: Option<&'a str>,
    pub(crate) campaign: &'a Keys,
    /// With a bug of the suite, its row says what to run: of the file, `[campaign]` counts alone.
    pub(crate) bug: Option<&'a str>,
}

/// A value, who has set it, and what to call the place in an error.
pub(crate) struct Set {
    pub(crate) value: Value,
    pub(crate) origin: String,
    pub(crate) place: String,
}

/// Paths with their values.
pub(crate) type Layer = Vec<(String, Set)>;

/// The uppermost value of each path.
#[derive(Default)]
pub(crate) struct Config {
    values: BTreeMap<String, Set>,
}

impl Config {
    pub(crate) fn load(source: &Source, given: &Given<'_>) -> Result<Self> {
        let mut config = Self::default();
        for mut layer in layers(source)? {
            layer.retain(|(path, _)| given.bug.is_none() || path.starts_with("campaign."));
            config.overlay(layer)?;
        }
        config.overlay(environment()?)?;
        config.overlay(given.layer()?)?;
        Ok(config)
    }

    /// Puts a layer on top; all in it must mean something.
    pub(crate) fn overlay(&mut self, mut layer: Layer) -> Result<()> {
        // Names first: they drop keys of layers below, not of their own.
        layer.sort_by_key(|(path, _)| !path.ends_with(".name"));
        for (path, set) in layer {
            check(&path, &set.value).with_context(|| set.place.clone())?;
            let owner = ["protocol.", "strategy."].into_iter().find(|&table| path == format!("{table}name"));
            if let Some(table) = owner
                && self.values.get(&path).is_some_and(|below| below.value != set.value)
            {
                self.values.retain(|path, _| !path.starts_with(table));
            }
            self.values.insert(path, set);
        }
        Ok(())
    }

    /// Whether a path has a value.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.values.contains_key(path)
    }

    /// The text at a path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.values.get(path)?.value.as_str()
    }

    /// What to call the place of a path in an error.
    pub(crate) fn place(&self, path: &str) -> String {
        self.values.get(path).map(|set| set.place.clone()).unwrap_or_default()
    }

    /// What it says about the scenario, apart from the name of the protocol.
    pub(crate) fn of_scenario(&self) -> impl Iterator<Item = (&str, &Value)> {
        let other = |path: &str| path.starts_with("campaign.") || path.starts_with("strategy.");
        let keys = self.values.iter().filter(move |(path, _)| !other(path) && *path != "protocol.name");
        keys.map(|(path, set)| (path.as_str(), &set.value))
    }

    /// The keys of a table.
    fn table(&self, name: &str) -> Table {
        let key = |path: &String| Some(path.strip_prefix(name)?.strip_prefix('.')?.to_owned());
        self.values.iter().filter_map(|(path, set)| Some((key(path)?, set.value.clone()))).collect()
    }

    /// The parameters of the strategy.
    pub(crate) fn params(&self) -> Result<Table> {
        let mut params = self.table("strategy");
        params.remove("name");
        let place = |key: &str| self.place(&format!("strategy.{key}"));
        let info = match (self.text("strategy.name"), params.keys().next()) {
            (Some(name), _) => registry::strategy(name).with_context(|| place("name"))?,
            (None, None) => return Ok(params),
            (None, Some(first)) if registry::nearest(first, &["name"]).is_some() => {
                bail!("{}: no key of [strategy] `{first}`: did you mean `name`?", place(first))
            }
            (None, Some(first)) => {
                bail!("{}: `{first}` is a parameter of which strategy? Give its `name` too", place(first))
            }
        };
        let known: Vec<&str> = info.params.iter().map(|param| param.name).collect();
        for (key, value) in &params {
            if !known.contains(&key.as_str()) {
                let what = format!("parameter of {}", info.name);
                let unlisted = registry::unlisted(&what, key, &known, "list strategies");
                return Err(unlisted).with_context(|| place(key));
            }
            if value.is_table() || value.is_array() {
                bail!("{}: `{key}` is a number, or text: words with commas between them", place(key));
            }
        }
        Ok(params)
    }

    /// What it says about the campaign.
    pub(crate) fn campaign(&self) -> Result<Keys> {
        Ok(Value::Table(self.table("campaign")).try_into()?)
    }

    /// Prints it as a file, with what came of it and where each value is from.
    pub(crate) fn print(&self, given: &Given<'_>, setup: &Setup, prepared: &Prepared) -> Result<()> {
        let (mut tables, defaults) = (prepared.tables()?, prepared.defaults()?);
        let campaign = Table::try_from(self.campaign()?.or_default(prepared.universe()?.is_some()))?;
        tables.insert("campaign".to_owned(), campaign.into());
        let options = setup.origins();
        let origin = |table: &str, key: &str, value: &Value| {
            let path = format!("{table}.{key}");
            let option = options.iter().rfind(|(set, _)| *set == path).map(|&(_, option)| option.to_owned());
            let set = option.or_else(|| self.values.get(&path).map(|set| set.origin.clone()));
            let default = defaults.get(table).and_then(|table| table.get(key));
            set.unwrap_or_else(|| match (given.bug, path.as_str()) {
                _ if default.is_none_or(|default| default == value) => "default".to_owned(),
                (Some(bug), _) => format!("--bug {bug}"),
                (None, "cluster.n") => "as many as f needs".to_owned(),
                (None, _) => "as many as n allows".to_owned(),
            })
        };
        out::drawn(format_args!("schema = {SCHEMA}"))?;
        for (name, keys) in &tables {
            out::drawn(format_args!("\n[{name}]"))?;
            for (key, value) in keys.as_table().into_iter().flatten() {
                out::drawn(format_args!("{key} = {value}  # {}", origin(name, key, value)))?;
            }
        }
        Ok(())
    }
}

impl Given<'_> {
    fn layer(&self) -> Result<Layer> {
        let option = |path: &str, name: &str, value| {
            (path.to_owned(), Set { value, origin: name.to_owned(), place: name.to_owned() })
        };
        let campaign = Table::try_from(self.campaign)?.into_iter();
        let protocol = self.protocol.map(|name| option("protocol.name", "PROTO", name.into()));
        let strategy = self.strategy.map(|name| option("strategy.name", "--strategy", name.into()));
        let campaign =
            campaign.map(|(key, value)| option(&format!("campaign.{key}"), &format!("--{key}"), value));
        Ok(protocol.into_iter().chain(strategy).chain(campaign).collect())
    }
}

/// What variables say: `TURNCOAT_PROTOCOL`, `TURNCOAT_STRATEGY`, and one for each key of `[campaign]`.
fn environment() -> Result<Layer> {
    let names = ["protocol", "strategy"].map(|table| (format!("{table}.name"), table.to_owned()));
    let keys = Keys::names().into_iter().map(|key| (format!("campaign.{key}"), key));
    let mut layer = Layer::new();
    for (path, name) in names.into_iter().chain(keys) {
        if let Some((variable, text)) = variable(&name)? {
            // Text where the key takes text, even if it looks like a number.
            let verbatim = Value::String(text.clone());
            let value = if check(&path, &verbatim).is_ok() { verbatim } else { value(&text) };
            layer.push((path, Set { value, origin: variable.clone(), place: variable }));
        }
    }
    Ok(layer)
}

/// A variable of ours, with its whole name. An empty one is as good as none.
#[expect(clippy::disallowed_methods, reason = "options of the command: no run sees them")]
fn variable(name: &str) -> Result<Option<(String, String)>> {
    let name = format!("TURNCOAT_{}", name.to_uppercase());
    match env::var(&name) {
        Ok(text) => Ok((!text.is_empty()).then_some((name, text))),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => bail!("{name} is not text"),
    }
}

/// The layers of the file: its tables, and those of the profile.
fn layers(source: &Source) -> Result<Vec<Layer>> {
    let named = match &source.config {
        Some(path) => Some(path.clone()),
        None => variable("config")?.map(|(_, path)| path.into()),
    };
    let profile = match &source.profile {
        Some(profile) => Some(profile.clone()),
        None => variable("profile")?.map(|(_, profile)| profile),
    };
    match (named, profile) {
        (Some(path), profile) => File::read(&path)?.layers(profile.as_deref()),
        (None, profile) if Path::new(FILE).exists() => {
            File::read(Path::new(FILE))?.layers(profile.as_deref())
        }
        (None, Some(profile)) => bail!("no profile `{profile}`: there is no {FILE} here"),
        (None, None) => Ok(Vec::new()),
    }
}

/// Whether there is such a key, and the value means something. Parameters of a strategy are known only in the end.
fn check(path: &str, value: &Value) -> Result<()> {
    let (table, key) = path.split_once('.').unwrap_or_default();
    let text = matches!(path, "protocol.name" | "strategy.name");
    if text && !value.is_str() {
        bail!("`name` is text, not {value}");
    }
    match table {
        "strategy" => Ok(()),
        "campaign" => {
            let known = Keys::names();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            if !known.contains(&key) {
                return Err(registry::unknown("key of [campaign]", key, &known));
            }
            let alone = Table::from_iter([(key.to_owned(), value.clone())]);
            let read: Result<Keys, _> = Value::Table(alone).try_into();
            read.map(drop).map_err(|error| anyhow!("`{key} = {value}`: {}", error.message()))
        }
        _ => match Scenario::new("").with(path, value.clone()) {
            Ok(_) => Ok(()),
            Err(error) => Err(unknown_field(table, key, &error.to_string()).unwrap_or_else(|| error.into())),
        },
    }
}

/// The error for a key that a table does not have. Which keys it has, serde alone knows; it names them in backticks.
fn unknown_field(table: &str, key: &str, error: &str) -> Option<anyhow::Error> {
    let (_, expected) = error.split_once(&format!("unknown field `{key}`, expected"))?;
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    Some(registry::unknown(&format!("key of [{table}]"), key, &known))
}
