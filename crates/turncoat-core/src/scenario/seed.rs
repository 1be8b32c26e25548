//! The number that all randomness of a run comes from.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A seed, written as `0x` and 16 hex digits; decimal is understood too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Seed(pub u64);

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl std::str::FromStr for Seed {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let digits = s.replace('_', "");
        let parsed = match digits.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => digits.parse(),
        };
        parsed.map(Self).map_err(|_| format!("`{s}` is not a seed: give a 64-bit number, decimal or 0x..."))
    }
}

impl Serialize for Seed {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Number(u64),
            Text(String),
        }
        match Form::deserialize(d)? {
            Form::Number(n) => Ok(Self(n)),
            Form::Text(s) => s.parse().map_err(serde::de::Error::custom),
        }
    }
}
