//! How values without parts can be changed: numbers, digests, names of nodes, operations.

use std::fmt;

use super::{Craft, Depth, Liar, Mutation, Number, Part, Place, Scope, craft_row, no_field, parse, row, set};
use crate::client::{Op, Request};
use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, Slot, Time, View};
use crate::sign::Signed;

macro_rules! number_part {
    ($($type:ty, $raw:ty, $get:expr, $make:expr;)*) => {$(
        impl Part for $type {
            fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
                row(table, path, "+1", Scope::Small);
                row(table, path, "-1", Scope::Small);
                row(table, path, "=any", Scope::Any);
            }
            fn count(_: Depth) -> usize {
                3
            }
            fn mutate(&mut self, _: Depth, index: usize, _: Option<&Self>, liar: &mut Liar<'_>) -> bool {
                let number: $raw = $get(*self);
                let lie = match index {
                    0 => number.saturating_add(1),
                    1 => number.saturating_sub(1),
                    _ => liar.rng.bits() as $raw,
                };
                set(self, $make(lie))
            }
            fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
            fn edit(&mut self, field: &str, value: &str, _: NodeSet) -> Result<(), String> {
                let mut number: $raw = $get(*self);
                parse(&mut number, field, value)?;
                *self = $make(number);
                Ok(())
            }
            fn numbers(_: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
                Number::add(path, place, found);
            }
            fn number(&self, at: &[u8]) -> Option<u64> {
                at.is_empty().then(|| $get(*self) as u64)
            }
            fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
                crafted_as(depth, path, place, found, &["+1", "-1"]);
            }
            fn craft(&mut self, at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
                matches!(*at, [step @ ..2] if self.mutate(Depth::default(), usize::from(step), earlier, liar))
            }
        }
    )*};
}

number_part! {
    View, u32, |v: Self| v.0, View;
    Slot, u32, |s: Self| s.0, Slot;
    Time, u64, |t: Self| t.0, Time;
    u8, u8, |x| x, |x| x;
    u32, u32, |x| x, |x| x;
    u64, u64, |x| x, |x| x;
    i64, i64, |x| x, |x| x;
}

/// Rows of a value that others follow from: where none do, the ordinary table has them.
fn crafted_as(depth: Depth, path: &str, place: &Place, found: &mut Vec<Craft>, operators: &[&str]) {
    for (step, operator) in (0..).zip(operators).filter(|_| depth.fits) {
        craft_row(found, path, operator, place, step);
    }
}

impl Part for Digest {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        row(table, path, "=earlier", Scope::Small);
        row(table, path, "=other", Scope::Small);
        row(table, path, "=fresh", Scope::Small);
        row(table, path, "=any", Scope::Any);
    }
    fn count(_: Depth) -> usize {
        4
    }
    fn mutate(&mut self, _: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let lie = match index {
            0 => earlier.copied(),
            1 => {
                let others: Vec<Self> =
                    liar.requests.iter().map(|r| r.digest()).filter(|d| d != self).collect();
                (!others.is_empty()).then(|| *liar.rng.pick(&others))
            }
            2 => Some(Self::of(&self.0)),
            _ => Some(Self(liar.rng.bits())),
        };
        lie.is_some_and(|lie| set(self, lie))
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, _: NodeSet) -> bool {
        *self == old.digest() && set(self, new.digest())
    }
    /// As it is shown: from hexadecimal digits, of which people see the first four, or from a small number, `#1`.
    fn edit(&mut self, field: &str, value: &str, _: NodeSet) -> Result<(), String> {
        if !field.is_empty() {
            return no_field(field);
        }
        if let Some(number) = value.strip_prefix('#').and_then(|number| number.parse::<u32>().ok()) {
            *self = Self(number.into());
            return Ok(());
        }
        let digits = u64::from_str_radix(value, 16).ok().filter(|_| (1..=16).contains(&value.len()));
        let digits =
            digits.ok_or_else(|| format!("`{value}` is not a digest: 1 to 16 hexadecimal digits"))?;
        *self = Self(digits << (4 * (16 - value.len())));
        Ok(())
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        crafted_as(depth, path, place, found, &["=null", "=earlier", "=fresh"]);
    }
    fn craft(&mut self, at: &[u8], earlier: Option<&Self>, _: &mut Liar<'_>) -> bool {
        let lie = match at {
            [0] => Some(Self::NULL),
            [1] => earlier.copied(),
            [2] => Some(Self::of(&self.0)),
            _ => None,
        };
        lie.is_some_and(|lie| set(self, lie))
    }
}

impl Part for NodeId {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        row(table, path, "=next", Scope::Small);
        row(table, path, "=any", Scope::Any);
    }
    fn count(_: Depth) -> usize {
        2
    }
    fn mutate(&mut self, _: Depth, index: usize, _: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let lie = if index == 0 { (self.index() + 1) % liar.n } else { liar.rng.index(liar.n) };
        set(self, if self.is_client() { Self::client(lie) } else { Self::replica(lie) })
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
    fn edit(&mut self, field: &str, value: &str, _: NodeSet) -> Result<(), String> {
        parse(self, field, value)
    }
}

impl Part for bool {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        row(table, path, "=not", Scope::Small);
    }
    fn count(_: Depth) -> usize {
        1
    }
    fn mutate(&mut self, _: Depth, _: usize, _: Option<&Self>, _: &mut Liar<'_>) -> bool {
        *self = !*self;
        true
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
    fn edit(&mut self, field: &str, value: &str, _: NodeSet) -> Result<(), String> {
        parse(self, field, value)
    }
    fn numbers(_: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        Number::add(path, place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        at.is_empty().then_some(u64::from(*self))
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        crafted_as(depth, path, place, found, &["=not"]);
    }
    fn craft(&mut self, at: &[u8], _: Option<&Self>, _: &mut Liar<'_>) -> bool {
        *self ^= *at == [0];
        *at == [0]
    }
}

impl Part for Op {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        row(table, path, "~", Scope::Small);
        row(table, path, "=any", Scope::Any);
    }
    fn count(_: Depth) -> usize {
        2
    }
    fn mutate(&mut self, _: Depth, index: usize, _: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let lie =
            if index == 0 { self.nudged() } else { Self::new(&format!("x{}", liar.rng.below(1 << 16))) };
        set(self, lie)
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
    fn edit(&mut self, field: &str, value: &str, _: NodeSet) -> Result<(), String> {
        *self = Self::new(value);
        if field.is_empty() { Ok(()) } else { no_field(field) }
    }
}
