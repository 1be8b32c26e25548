//! The file of a configuration: its tables, its profiles, and on which line a key is.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use toml::de::DeTable;
use toml::{Table, Value};
use turncoat_core::scenario::{SCHEMA, Scenario};

use crate::config::{Config, Layer, Set};
use crate::{files, registry};

/// Its text, and what is in it.
pub(crate) struct File {
    name: String,
    text: String,
    tables: Table,
    profiles: Table,
}

impl File {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let (name, text) = (path.display().to_string(), files::text(path)?);
        let mut tables: Table =
            toml::from_str(&text).map_err(|error| anyhow!("{name}: {}", error.to_string().trim_end()))?;
        match tables.remove("schema").as_ref().and_then(Value::as_integer) {
            Some(found) if found > i64::from(SCHEMA) => {
                bail!(
                    "{name}: schema {found} is newer than this version understands ({SCHEMA}): upgrade turncoat"
                )
            }
            Some(_) => {}
            None => bail!("{name}: not a configuration: a configuration starts with `schema = {SCHEMA}`"),
        }
        let profiles = match tables.remove("profile") {
            None => Table::new(),
            Some(Value::Table(profiles)) => profiles,
            Some(_) => bail!("{name}: a profile is a table, as in [profile.ci.campaign]"),
        };
        Ok(Self { name, text, tables, profiles })
    }

    /// Its tables, and those of a profile above them. The other profiles are checked too: who leaves a mistake in one
    /// should not learn it from a machine at night.
    pub(crate) fn layers(&self, profile: Option<&str>) -> Result<Vec<Layer>> {
        let mut layers = vec![self.layer(&[], &self.tables, &self.name)?];
        for (name, tables) in &self.profiles {
            let Some(tables) = tables.as_table() else {
                bail!(
                    "{}: `{name}` is a table, as in [profile.{name}.campaign]",
                    self.place(&["profile", name])
                );
            };
            let origin = format!("profile {name} ({})", self.name);
            let layer = self.layer(&["profile", name], tables, &origin)?;
            if profile == Some(name) {
                layers.push(layer);
            } else {
                Config::default().overlay(layer)?;
            }
        }
        match profile {
            Some(profile) if !self.profiles.contains_key(profile) => {
                let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
                Err(registry::unknown("profile", profile, &known)).with_context(|| self.name.clone())
            }
            _ => Ok(layers),
        }
    }

    /// The keys of tables that are found within others.
    fn layer(&self, within: &[&str], tables: &Table, origin: &str) -> Result<Layer> {
        let scenario = Scenario::new("").to_table();
        let of_scenario =
            scenario.iter().filter(|(_, value)| value.is_table()).map(|(name, _)| name.as_str());
        let known: Vec<&str> = of_scenario.chain(["strategy", "campaign"]).collect();
        let mut layer = Layer::new();
        for (name, table) in tables {
            let path = [within, &[name]].concat();
            if !known.contains(&name.as_str()) {
                return Err(registry::unknown("table", name, &known)).with_context(|| self.place(&path));
            }
            let Some(table) = table.as_table() else {
                bail!("{}: `{name}` is a table: [{}]", self.place(&path), path.join("."));
            };
            for (key, value) in table {
                let place = self.place(&[&path[..], &[key]].concat());
                layer.push((
                    format!("{name}.{key}"),
                    Set { value: value.clone(), origin: origin.to_owned(), place },
                ));
            }
        }
        Ok(layer)
    }

    /// The name of the file, and the line where a key is.
    fn place(&self, path: &[&str]) -> String {
        let start = || {
            let root = DeTable::parse(&self.text).ok()?;
            let (mut table, mut start) = (Some(root.get_ref()), None);
            for name in path {
                let (key, value) = table?.iter().find(|(key, _)| key.get_ref() == name)?;
                (table, start) = (value.get_ref().as_table(), Some(key.span().start));
            }
            start
        };
        let start = start().unwrap_or_default();
        let line = 1 + self.text[..start].matches('\n').count();
        format!("{}:{line}", self.name)
    }
}
