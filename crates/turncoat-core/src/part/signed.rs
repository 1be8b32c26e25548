//! How what is signed can be changed: by the liar in its own name, or by a forgery that everybody sees through.

use std::any::Any;
use std::fmt;

use super::crafted::{CERT, Rank, other_cert};
use super::{
    Change, Craft, Depth, Letter, Liar, Mutation, Number, Part, Place, Scope, craft_row, differ, row, set,
};
use crate::client::Request;
use crate::ids::{NodeId, NodeSet};
use crate::sign::{Cert, Signed};

/// A lie that the liar cannot sign for: a small mutation of the body, drawn by the fault's seed.
fn forge<T: Part>(body: &mut T, depth: Depth, liar: &mut Liar<'_>) -> bool {
    let count = T::count(depth);
    let start = liar.rng.index(count);
    (0..count).any(|i| body.mutate(depth, (start + i) % count, None, liar))
}

impl<T: Part + PartialEq> Part for Signed<T> {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        if depth.signed == 0 {
            T::mutations(depth.signed(), path, table);
        } else {
            row(table, path, "=earlier", Scope::Small);
            row(table, path, ".forge", Scope::Small);
        }
    }
    fn count(depth: Depth) -> usize {
        if depth.signed == 0 { T::count(depth.signed()) } else { 2 }
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let keys = liar.keys;
        if depth.signed == 0 {
            return self.edit(keys, |body| body.mutate(depth.signed(), index, earlier.map(|e| &**e), liar));
        }
        if index == 0 {
            let lie = T::another(self, liar).or_else(|| earlier.cloned());
            return lie.is_some_and(|lie| set(self, lie));
        }
        self.edit(keys, |body| forge(body, depth.signed(), liar))
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::describe(self, f)?;
        if self.valid() { Ok(()) } else { write!(f, " (bad signature of {})", self.signer()) }
    }
    fn letters(found: &mut Vec<Letter>) {
        T::letters(found);
    }
    fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
        T::changes(self, lie, path, found);
        let words =
            |signed: &Self| format!("{} of {}", if signed.valid() { "good" } else { "bad" }, signed.signer());
        differ(&format!("{path}.signature"), words(self), words(lie), found);
    }
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        T::fields(self, path, found);
    }
    fn edit(&mut self, field: &str, value: &str, keys: NodeSet) -> Result<(), String> {
        let mut done = Ok(());
        Self::edit(self, keys, |body| {
            let before = body.clone();
            done = body.edit(field, value, keys);
            *body != before
        });
        done
    }
    fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) {
        T::signed_requests(self, found);
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        T::signed_substitute(self, old, new, keys)
    }
    fn numbers(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        T::numbers(depth, path, place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        T::number(self, at)
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        let nested = !depth.is_body() || depth.signed > 0;
        if nested {
            craft_row(found, path, "=older", place, OLDER);
            craft_row(found, path, "=other", place, OTHER);
        }
        if nested && T::OWN {
            craft_row(found, path, "=own", place, OWN);
        }
        // Of what is signed in a list, a liar edits what is its own, wherever that stands.
        if !depth.one {
            place.push(INSIDE);
            let fits = depth.fits && !nested;
            T::crafts(Depth { fits, ..depth.signed() }, path, place, found);
            place.pop();
        }
    }
    fn craft(&mut self, at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let lie = match at {
            [OLDER] => {
                let rank = Rank::of::<T>();
                let own = rank.rank(&**self);
                liar.seen.last(|other: &Self| other.is_by(self.signer()) && rank.rank(&**other) < own)
            }
            [OTHER] => T::another(self, liar).or_else(|| {
                let rank = Rank::of::<T>();
                let own = rank.rank(&**self);
                liar.seen
                    .last(|other: &Self| other.valid() && **other != **self && rank.rank(&**other) == own)
            }),
            [OWN] => T::own(self, liar),
            [INSIDE, rest @ ..] if self.valid() && liar.keys.contains(self.signer()) => {
                return self.edit(liar.keys, |body| body.craft(rest, earlier.map(|e| &**e), liar));
            }
            _ => None,
        };
        lie.is_some_and(|lie| set(self, lie))
    }
    fn look(&self, enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
        enough(self) || T::look(self, enough)
    }
}

/// The steps of what is signed: into its body, and its operators.
const INSIDE: u8 = 0;
const OLDER: u8 = 1;
const OTHER: u8 = 2;
const OWN: u8 = 3;

impl<T: Part + PartialEq> Part for Cert<T> {
    fn mutations(_: Depth, path: &str, table: &mut Vec<Mutation>) {
        for operator in ["=earlier", ".drop-signer", ".repeat-signer", ".forge"] {
            row(table, path, operator, Scope::Small);
        }
    }
    fn count(_: Depth) -> usize {
        4
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let keys = liar.keys;
        match index {
            0 => earlier.cloned().is_some_and(|lie| set(self, lie)),
            1 => self.signers_mut().pop().is_some(),
            2 => {
                let last = self.signers().last().copied();
                self.signers_mut().extend(last);
                last.is_some()
            }
            // Half of the forgeries change what was certified, half add a signature that was never given.
            _ if liar.rng.chance(500) => self.edit(keys, |body| forge(body, depth.signed(), liar)),
            _ => {
                let absent: Vec<NodeId> =
                    NodeSet::replicas(liar.n).iter().filter(|node| !self.signers().contains(node)).collect();
                let node = (!absent.is_empty()).then(|| *liar.rng.pick(&absent));
                node.into_iter().for_each(|node| self.claim(node, keys));
                node.is_some()
            }
        }
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(")?;
        T::describe(self, f)?;
        write!(f, ") by {:?}{}", self.signers(), if self.valid() { "" } else { " (forged)" })
    }
    fn letters(found: &mut Vec<Letter>) {
        T::letters(found);
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        self.edit(keys, |body| body.substitute(old, new, keys))
    }
    /// How many have signed.
    fn numbers(_: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        Number::add(path, place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        at.is_empty().then_some(self.signers().len() as u64)
    }
    fn crafts(_: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        for (step, operator) in (0..).zip(CERT) {
            craft_row(found, path, operator, place, step);
        }
    }
    fn craft(&mut self, at: &[u8], _: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let [step] = *at else { return false };
        other_cert(self, step, liar).is_some_and(|lie| set(self, lie))
    }
    fn look(&self, enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
        enough(self) || T::look(self, enough)
    }
}
