//! The states of replicas, side by side.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

#[derive(Serialize)]
pub(super) struct StateTable {
    columns: Vec<usize>,
    rows: Vec<StateRow>,
}

#[derive(Serialize)]
struct StateRow {
    path: String,
    values: Vec<Option<String>>,
    changed: Vec<bool>,
    differs: bool,
}

/// A replica in the table: its lifeline, whether it is correct, and its state before the last choice and after it.
pub(super) struct Column {
    pub(super) lifeline: usize,
    pub(super) correct: bool,
    pub(super) before: Option<Value>,
    pub(super) after: Option<Value>,
}

/// Numbers this large are digests, which are shown by their first digits.
const DIGEST: u64 = 1 << 40;

/// The longest text of a cell.
const LONG: usize = 160;

/// A path whose numbers count as numbers.
type Key = Vec<(Option<u64>, String)>;

impl StateTable {
    pub(super) fn of(columns: &[Column]) -> Self {
        let mut rows: BTreeMap<Key, Vec<[Option<String>; 2]>> = BTreeMap::new();
        for (i, column) in columns.iter().enumerate() {
            for (side, state) in [&column.before, &column.after].into_iter().enumerate() {
                let mut cells = Vec::new();
                state.iter().for_each(|state| flatten(state, &mut Vec::new(), &mut cells));
                for (key, text) in cells {
                    let row = rows.entry(key).or_insert_with(|| vec![[None, None]; columns.len()]);
                    row[i][side] = Some(text);
                }
            }
        }
        let row = |(key, cells): (Key, Vec<[Option<String>; 2]>)| {
            let correct = columns.iter().zip(&cells).filter(|(column, _)| column.correct);
            let mut said = correct.map(|(_, cell)| &cell[1]);
            let first = said.next();
            StateRow {
                differs: said.any(|other| Some(other) != first),
                changed: cells.iter().map(|[before, after]| before != after).collect(),
                values: cells.into_iter().map(|[_, after]| after).collect(),
                path: key.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join("."),
            }
        };
        let columns = columns.iter().map(|column| column.lifeline).collect();
        // What is gone is not there to be shown.
        rows.retain(|_, cells| cells.iter().any(|[_, after]| after.is_some()));
        Self { columns, rows: rows.into_iter().map(row).collect() }
    }
}

/// The cells below a value, each with its path.
fn flatten(value: &Value, path: &mut Key, cells: &mut Vec<(Key, String)>) {
    let plain = |value: &Value| !value.is_object() && !value.is_array();
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                path.push((name.parse().ok(), name.clone()));
                flatten(value, path, cells);
                path.pop();
            }
        }
        Value::Array(list) if !list.iter().all(plain) => {
            for (i, value) in list.iter().enumerate() {
                path.push((Some(i as u64), i.to_string()));
                flatten(value, path, cells);
                path.pop();
            }
        }
        value => cells.push((path.clone(), words(value))),
    }
}

fn words(value: &Value) -> String {
    let text = match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_u64() {
            Some(digest) if digest >= DIGEST => format!("{:04x}", digest >> 48),
            _ => number.to_string(),
        },
        Value::Array(list) => format!("[{}]", list.iter().map(words).collect::<Vec<_>>().join(", ")),
        Value::Object(_) => "{}".to_owned(),
        Value::Bool(it) => it.to_string(),
    };
    if text.chars().count() > LONG { text.chars().take(LONG).chain(['…']).collect() } else { text }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_in_order_and_say_what_changed_and_what_differs() {
        let column = |lifeline, before, after| Column { lifeline, correct: true, before, after };
        let one = json!({ "log": [{ "n": 1 }], "view": 0 });
        let two = json!({ "log": [{ "n": 1 }, { "n": 2 }], "view": 0 });
        let table = StateTable::of(&[column(1, Some(one.clone()), Some(two)), column(2, None, Some(one))]);
        let rows: Vec<(&str, bool)> = table.rows.iter().map(|row| (&*row.path, row.differs)).collect();
        assert_eq!(rows, [("log.0.n", false), ("log.1.n", true), ("view", false)]);
        assert_eq!(table.rows[1].changed, [true, false]);
        assert_eq!(table.rows[1].values, [Some("2".to_owned()), None]);
    }
}
