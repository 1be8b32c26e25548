//! A file leaves out what equals its default, so a default is part of what a file means: it may not change unless the
//! version of the format does.

use std::path::Path;

use toml::{Table, Value};
use turncoat::Scenario;
use turncoat::core::scenario::SCHEMA;

/// All defaults: of scenarios, and of the protocols' configurations.
fn defaults() -> Table {
    let mut table = Scenario::new("").to_table();
    let protocols = turncoat_protocols::all().into_iter();
    let protocols: Table =
        protocols.map(|entry| (entry.name.to_owned(), Value::Table(entry.config))).collect();
    table.insert("protocol".to_owned(), Value::Table(protocols));
    table
}

/// The keys of a table with their values, each with its path.
fn flat(table: &Table, path: &str, into: &mut Vec<(String, String)>) {
    for (key, value) in table {
        let path = format!("{path}{key}");
        match value {
            Value::Table(inner) if !inner.is_empty() => flat(inner, &format!("{path}."), into),
            value => into.push((path, value.to_string())),
        }
    }
}

#[test]
fn whoever_changes_a_default_raises_the_schema() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/defaults-of-schema-{SCHEMA}.txt"));
    let mut now = Vec::new();
    flat(&defaults(), "", &mut now);
    let text: String = now.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    for line in golden.lines() {
        let (key, before) = line.split_once(" = ").expect("a key and its value");
        let after = now.iter().find(|(other, _)| other == key).map(|(_, value)| value.as_str());
        assert_eq!(
            after,
            Some(before),
            "{key} had another default, which files of schema {SCHEMA} leave out: raise `SCHEMA` in scenario/mod.rs, and \
             write the new defaults with TURNCOAT_BLESS=1"
        );
    }
    if std::env::var_os("TURNCOAT_BLESS").is_some() {
        std::fs::write(&path, &text).expect("the golden file can be written");
    } else {
        assert_eq!(text, golden, "a key is new: TURNCOAT_BLESS=1 adds it");
    }
}
