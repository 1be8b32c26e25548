//! Changes texts: some a little, so that they mean something else, some so that they mean nothing.

use toml::{Table, Value};
use turncoat_core::rng::Rng;

/// Numbers at which something may break.
const NUMBERS: [i64; 22] = [
    i64::MIN,
    -1_000_000,
    -1,
    0,
    1,
    2,
    3,
    4,
    7,
    19,
    63,
    64,
    65,
    127,
    128,
    1000,
    4096,
    65_536,
    1_000_000,
    u32::MAX as i64,
    u32::MAX as i64 + 1,
    i64::MAX,
];

/// Texts that mean something somewhere, or nowhere.
const WORDS: [&str; 16] = [
    "",
    "p0",
    "p3",
    "p63",
    "p64",
    "c0",
    "c63",
    "p0.b",
    "all",
    "none",
    "script",
    "async",
    "\u{1b}[31m\n::error::x",
    "deliver p0>p1 commit #4294967295",
    "0xffffffffffffffff",
    "ÄÖÜ\u{202e}",
];

/// The tables of seeds, from which parts are taken.
pub(super) struct Mutator<'a> {
    pub(super) donors: &'a [Table],
}

impl Mutator<'_> {
    /// A text that differs from a file in a few places.
    pub(super) fn text(&self, seed: &Table, rng: &mut Rng) -> String {
        let mut table = seed.clone();
        // Most are changed in one or two places: more, and none would run.
        for _ in 0..[1, 1, 1, 2, 2, 5][rng.index(6)] {
            self.change(&mut table, rng);
        }
        let mut text = table.to_string();
        if rng.chance(150) {
            text = String::from_utf8_lossy(&garbled(text.into_bytes(), rng)).into_owned();
        }
        text
    }

    /// Changes something in a table, or in a table within it.
    fn change(&self, table: &mut Table, rng: &mut Rng) {
        let keys: Vec<String> = table.keys().cloned().collect();
        if keys.is_empty() || rng.chance(60) {
            return self.graft(table, rng);
        }
        let key = rng.pick(&keys).clone();
        if rng.chance(50) {
            table.remove(&key);
            return;
        }
        if rng.chance(40) {
            let (other, value) = (rng.pick(&keys).clone(), table[&key].clone());
            table.insert(other, value);
            return;
        }
        if let Some(value) = table.get_mut(&key) {
            self.change_value(value, rng);
        }
    }

    /// Takes over a key of another file.
    fn graft(&self, table: &mut Table, rng: &mut Rng) {
        let mut from = rng.pick(self.donors);
        loop {
            let keys: Vec<&String> = from.keys().collect();
            let Some(&key) = (!keys.is_empty()).then(|| *rng.pick(&keys)).as_ref() else { return };
            match &from[key] {
                Value::Table(inner) if rng.chance(700) => from = inner,
                value => {
                    table.insert(key.clone(), value.clone());
                    return;
                }
            }
        }
    }

    fn change_value(&self, value: &mut Value, rng: &mut Rng) {
        if rng.chance(30) {
            *value = any(rng);
            return;
        }
        match value {
            Value::Table(table) => self.change(table, rng),
            Value::Array(items) if items.is_empty() || rng.chance(100) => {
                let item = items.first().cloned().unwrap_or_else(|| any(rng));
                (0..=rng.index(70)).for_each(|_| items.push(item.clone()));
            }
            Value::Array(items) => {
                let at = rng.index(items.len());
                match rng.below(8) {
                    0 => drop(items.remove(at)),
                    1 => items.push(items[at].clone()),
                    2 => items.swap(0, at),
                    _ => self.change_value(&mut items[at], rng),
                }
            }
            Value::Integer(number) => {
                *number = match rng.below(3) {
                    0 => number.wrapping_add(i64::from(rng.below(5)) - 2),
                    1 => number.wrapping_mul(10),
                    _ => *rng.pick(&NUMBERS),
                };
            }
            Value::Boolean(value) => *value = !*value,
            Value::String(text) => *text = changed(text, rng),
            Value::Float(_) | Value::Datetime(_) => *value = any(rng),
        }
    }
}

/// A value of any type.
fn any(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::Boolean(true),
        1 => Value::Float(*rng.pick(&[0.5, -1e300, f64::NAN, f64::INFINITY])),
        2 => Value::Array(vec![Value::from(*rng.pick(&WORDS)), Value::from(*rng.pick(&NUMBERS))]),
        3 => Value::Table(Table::new()),
        4 => Value::from("long".repeat(rng.index(2000))),
        5 => Value::from(*rng.pick(&WORDS)),
        _ => Value::from(*rng.pick(&NUMBERS)),
    }
}

/// A text with another number, word or letter in it.
fn changed(text: &str, rng: &mut Rng) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let at = rng.index(words.len());
    let word = match rng.below(6) {
        0 => rng.pick(&WORDS).to_string(),
        1 => String::new(),
        2 => words[rng.index(words.len())].to_owned(),
        3 => words[at].replace(|c: char| c.is_ascii_digit(), &rng.pick(&NUMBERS).unsigned_abs().to_string()),
        4 => words[at].replace(|c: char| c.is_ascii_digit(), &rng.below(10).to_string()),
        _ => String::from_utf8_lossy(&garbled(words[at].as_bytes().to_vec(), rng)).into_owned(),
    };
    let words = words.iter().enumerate().map(|(i, known)| if i == at { word.as_str() } else { known });
    words.collect::<Vec<_>>().join(" ")
}

/// Bytes of which some are others, missing, doubled or moved.
pub(super) fn garbled(mut bytes: Vec<u8>, rng: &mut Rng) -> Vec<u8> {
    for _ in 0..=rng.index(3) {
        if bytes.is_empty() {
            return vec![rng.bits() as u8];
        }
        let (at, to) = (rng.index(bytes.len()), rng.index(bytes.len()));
        let (from, to) = (at.min(to), at.max(to).min(at.min(to) + 40));
        match rng.below(6) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = rng.bits() as u8,
            2 => bytes.insert(at, *rng.pick(b"\"'[]{}=,.#\n-0")),
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(from..to)),
            _ => drop(bytes.splice(at..at, bytes[from..to].to_vec())),
        }
    }
    bytes
}
