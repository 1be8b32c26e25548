//! A scenario as a TOML file: read with errors that help, written without what equals its default.

use super::{SCHEMA, Scenario, ScenarioError, invalid, without_types};

impl Scenario {
    /// Reads a file's text.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let malformed = |error: toml::de::Error| ScenarioError::toml(&error);
        // The version first: a newer file may have keys that are unknown here.
        let table: toml::Table = toml::from_str(text).map_err(malformed)?;
        match table.get("schema").and_then(toml::Value::as_integer) {
            None => {
                return Err(invalid(format!("not a scenario: a scenario starts with `schema = {SCHEMA}`")));
            }
            Some(found) if found > i64::from(SCHEMA) => return Err(ScenarioError::NewerSchema { found }),
            Some(_) => {}
        }
        if let Some(toml::Value::Table(protocol)) = table.get("protocol")
            && !protocol.contains_key("name")
        {
            return Err(unnamed(text, protocol));
        }
        toml::from_str(text).map_err(malformed)
    }

    /// The text of a file; what equals its default is left out.
    pub fn to_toml(&self) -> String {
        let mut table = self.to_table();
        let mut default = Self::new("").to_table();
        for kept in ["schema", "seed", "protocol"] {
            default.remove(kept);
        }
        strip(&mut table, &default);
        // What tells the story comes last, a step or a fault at a time.
        let faults = take(&mut table, "adversary", "faults");
        let script = take(&mut table, "scheduler", "script");
        let scheduler = script.as_ref().and_then(|_| table.remove("scheduler"));
        let expect = table.remove("expect");
        let mut text = toml::to_string(&table).expect("a scenario is a TOML document");
        for fault in faults.iter().flat_map(|faults| faults.as_array()).flatten() {
            text.push_str("\n[[adversary.faults]]\n");
            write_keys(&mut text, fault);
        }
        if let Some(steps) = script.as_ref().and_then(toml::Value::as_array) {
            text.push_str("\n[scheduler]\n");
            scheduler.iter().for_each(|scheduler| write_keys(&mut text, scheduler));
            let steps: String = steps.iter().map(|step| format!("    {step},\n")).collect();
            text.push_str(&format!("script = [\n{steps}]\n"));
        }
        if let Some(expect) = expect {
            text.push_str("\n[expect]\n");
            write_keys(&mut text, &expect);
        }
        text
    }

    /// All keys, defaults included.
    pub fn to_table(&self) -> toml::Table {
        toml::Table::try_from(self).expect("a scenario is a TOML document")
    }

    /// The scenario with the value at a dotted path replaced: `set("network.loss", ...)`.
    pub fn with(&self, path: &str, value: toml::Value) -> Result<Self, ScenarioError> {
        let mut table = self.to_table();
        let mut place = &mut table;
        let mut keys = path.split('.').peekable();
        while let Some(key) = keys.next() {
            if keys.peek().is_none() {
                place.insert(key.to_owned(), value);
                break;
            }
            let next = place.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new()));
            place =
                next.as_table_mut().ok_or_else(|| invalid(format!("`{path}`: `{key}` is not a table")))?;
        }
        let fits = |error: toml::de::Error| {
            ScenarioError::Malformed(format!("{path}: {}", without_types(error.message())))
        };
        toml::Value::Table(table).try_into().map_err(fits)
    }
}

/// The error for a protocol without a name: a key that somebody has misspelled is among those that there are.
fn unnamed(text: &str, protocol: &toml::Table) -> ScenarioError {
    let keys = protocol.keys().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    let place = || {
        let root = toml::de::DeTable::parse(text).ok()?;
        let (_, table) = root.get_ref().iter().find(|(key, _)| key.get_ref() == "protocol")?;
        let first = table.get_ref().as_table()?.keys().map(|key| key.span().start).min()?;
        Some(format!("line {}: ", 1 + text[..first].matches('\n').count()))
    };
    let place = place().unwrap_or_default();
    match keys.is_empty() {
        true => invalid("[protocol] has no `name`"),
        false => invalid(format!("{place}[protocol] has no `name`, only {keys}: did you misspell it?")),
    }
}

/// Takes a key out of a section, and the section too if nothing else is in it.
fn take(table: &mut toml::Table, section: &str, key: &str) -> Option<toml::Value> {
    let within = table.get_mut(section)?.as_table_mut()?;
    let taken = within.remove(key);
    if within.is_empty() {
        table.remove(section);
    }
    taken
}

/// The keys of a section, a line each.
fn write_keys(text: &mut String, section: &toml::Value) {
    for (key, value) in section.as_table().into_iter().flatten() {
        text.push_str(&format!("{key} = {value}\n"));
    }
}

/// Removes from `table` what equals `default`.
fn strip(table: &mut toml::Table, default: &toml::Table) {
    table.retain(|key, value| match (value, default.get(key)) {
        (toml::Value::Table(inner), Some(toml::Value::Table(default))) => {
            strip(inner, default);
            !inner.is_empty()
        }
        (value, Some(default)) => value != default,
        (_, None) => true,
    });
}
