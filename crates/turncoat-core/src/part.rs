//! What a lie can change: the parts of messages and their named mutations.
//!
//! `#[derive(Message)]` on the protocol's enum and `#[derive(Part)]` on the structs inside it make an
//! enumerable table, one row per (field, operator): `prepare.view+1`, `commit.digest=earlier`,
//! `view-change.prepared.drop-last`. Operators come from the type of the field:
//!
//! | type | small scope | any scope |
//! |---|---|---|
//! | numbers | `+1`, `-1` | `=any` |
//! | [`Digest`] | `=earlier` (seen in this run), `=other` (of another request), `=fresh` | `=any` |
//! | [`NodeId`] | `=next` | `=any` |
//! | `bool` | `=not` | |
//! | [`Op`] | `~` (slightly changed) | `=any` |
//! | `Option` | `=none` | |
//! | `Vec` | `.clear`, `.drop-first`, `.drop-last`, `.repeat-last`, and those of the first and last element | |
//! | outermost [`Signed`] | those of its body: the liar signs again | |
//! | [`Signed`] inside | `=earlier` (a genuine one seen in this run), `.forge` | |
//! | [`Cert`] | `=earlier`, `.drop-signer`, `.repeat-signer`, `.forge` | |

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::client::{Op, Request};
use crate::hash::Digest;
use crate::ids::{NodeId, NodeSet, Slot, Time, View};
use crate::rng::Rng;
use crate::sign::{Cert, Signed, Signer};

/// How far a mutated value may lie from the true one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Neighbouring values and values seen in this run.
    #[default]
    Small,
    /// Those and arbitrary values of the right shape.
    Any,
}

/// A row of the mutation table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// `kind.field` and operator.
    pub name: String,
    /// The smallest scope that contains it.
    pub scope: Scope,
}

/// A field that says something else in a lie than in the truth.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Change {
    /// Its label, as in a trace, after those of the parts that it is in: `n`, `P.0.votes`.
    pub field: String,
    /// The truth.
    pub was: String,
    /// The lie.
    pub is: String,
}

/// A label in a trace, and what it means: `h`, `its last stable checkpoint`.
pub type Letter = (&'static str, &'static str);

/// A part as [`Part::describe`] writes it.
pub(crate) struct Described<'a, T>(pub(crate) &'a T);

impl<T: Part> fmt::Display for Described<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.describe(f)
    }
}

/// Where in a message a part stands: inside how many signatures and lists.
#[derive(Clone, Copy, Default, Debug)]
pub struct Depth {
    signed: u8,
    list: u8,
}

impl Depth {
    /// One signature deeper.
    #[must_use]
    pub const fn signed(self) -> Self {
        Self { signed: self.signed + 1, ..self }
    }
    /// One list deeper.
    #[must_use]
    pub const fn list(self) -> Self {
        Self { list: self.list + 1, ..self }
    }
}

/// The one who lies: its keys, and what it may draw on.
pub struct Liar<'a> {
    /// The identities in whose name it can sign.
    pub keys: NodeSet,
    /// The same lie for the same fault: seeded by (kind, fault).
    pub rng: Rng,
    /// The requests submitted in this run so far.
    pub requests: &'a [Signed<Request>],
    /// The number of replicas.
    pub n: usize,
}

impl Liar<'_> {
    /// Changes what is under a signature, which stays good only if it is the liar's own.
    pub fn edit<T>(&self, signed: &mut Signed<T>, edit: impl FnOnce(&mut T)) -> bool {
        signed.edit(self.keys, |body| {
            edit(body);
            true
        })
    }

    /// Writes the name of a signer under a body: a good signature only if it is the liar's own.
    pub fn sign<T>(&self, signer: NodeId, body: T) -> Signed<T> {
        let mut signed = Signer::of(signer).sign(body);
        self.edit(&mut signed, |_| {});
        signed
    }

    /// Writes the names of signers under a body: a good certificate only if they are all the liar's own.
    pub fn certify<T>(&self, body: T, signers: NodeSet) -> Cert<T> {
        let mut cert = Cert::new(body, signers);
        cert.edit(self.keys, |_| true);
        cert
    }

    /// A request that somebody has asked for, other than `present`.
    pub fn another_request(&mut self, present: Option<&Signed<Request>>) -> Option<Signed<Request>> {
        let others: Vec<_> = self.requests.iter().filter(|&request| Some(request) != present).collect();
        (!others.is_empty()).then(|| **self.rng.pick(&others))
    }
}

/// A part of a message: a field, or a struct of fields (`#[derive(Part)]`).
///
/// The table in the [module](self) lists the types that are parts. `usize` is not, as its size differs between machines,
/// and arrays are not:
///
/// ```compile_fail
/// # use turncoat_core::prelude::*;
/// #[derive(Clone, PartialEq, Serialize, Deserialize, Part)]
/// struct Vote {
///     index: usize,
/// }
/// ```
///
/// ```compile_fail
/// # use turncoat_core::prelude::*;
/// #[derive(Clone, PartialEq, Serialize, Deserialize, Part)]
/// struct Vote {
///     bits: [bool; 2],
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a field of a message",
    label = "not a part of messages",
    note = "instead of `usize` use `u32` or `u64`, instead of `u16` or `i32` use `u32` or `i64`, instead of an array or a set use `Vec`",
    note = "a struct of your own derives `Part`; what no liar should touch is marked `#[part(skip)]`, and is still a `Part`"
)]
pub trait Part: Clone {
    /// Appends this part's rows to the mutation table, each name starting with `path`.
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>);

    /// How many rows that is.
    fn count(depth: Depth) -> usize;

    /// Applies row `index`; `earlier` is the same part of a message of the same kind seen before. Says whether
    /// anything changed.
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool;

    /// Writes the part for people: `view=0 seq=1`.
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Appends the labels that [`Part::describe`] writes, each with what its field's documentation says.
    fn letters(_found: &mut Vec<Letter>) {}

    /// Names what differs in `lie`, each field by a name that starts with `path`.
    fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
        differ(path, Described(self).to_string(), Described(lie).to_string(), found);
    }

    /// Appends the fields, each by the name that [`Part::changes`] gives it, with what it says.
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        found.push((path.trim_start_matches('.').to_owned(), Described(self).to_string()));
    }

    /// Sets the field of this name, on behalf of somebody who has these keys.
    ///
    /// # Errors
    /// If there is no such field, or it cannot say that.
    fn edit(&mut self, field: &str, _value: &str, _keys: NodeSet) -> Result<(), String> {
        Err(format!("`{field}` cannot be set by hand: see the named lies"))
    }

    /// Shows each signed request in this part.
    fn requests(&self, _found: &mut dyn FnMut(&Signed<Request>)) {}

    /// Replaces request `old`, and its digest, by `new` wherever it stands; says whether anything changed.
    fn substitute(&mut self, _old: &Signed<Request>, _new: &Signed<Request>, _keys: NodeSet) -> bool {
        false
    }

    /// [`Part::requests`] for this part under a signature.
    fn signed_requests(signed: &Signed<Self>, found: &mut dyn FnMut(&Signed<Request>)) {
        Self::requests(signed, found);
    }

    /// [`Part::substitute`] for this part under a signature.
    fn signed_substitute(
        signed: &mut Signed<Self>,
        old: &Signed<Request>,
        new: &Signed<Request>,
        keys: NodeSet,
    ) -> bool {
        signed.edit(keys, |body| body.substitute(old, new, keys))
    }

    /// A genuine signed part of this type, other than `present`, from the pools of the run.
    fn another(_present: &Signed<Self>, _liar: &mut Liar<'_>) -> Option<Signed<Self>> {
        None
    }
}

/// Notes a field, if its words differ.
fn differ(path: &str, was: String, is: String, found: &mut Vec<Change>) {
    if was != is {
        found.push(Change { field: path.trim_start_matches('.').to_owned(), was, is });
    }
}

/// What is left of a field's name below a part of this name; for implementations of [`Part`].
pub fn below<'a>(field: &'a str, label: &str) -> Option<&'a str> {
    let rest = field.strip_prefix(label.trim_start_matches('.'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

/// The error for a field that is not there; for implementations of [`Part`].
pub fn no_field(field: &str) -> Result<(), String> {
    Err(format!("there is no field `{field}`"))
}

/// Sets a field that has no parts, from its words.
fn parse<T: FromStr>(place: &mut T, field: &str, value: &str) -> Result<(), String> {
    if !field.is_empty() {
        return no_field(field);
    }
    *place = value.parse().map_err(|_| format!("`{value}` is not what such a field says"))?;
    Ok(())
}

/// Writes one row; for implementations of [`Part`].
pub fn row(table: &mut Vec<Mutation>, path: &str, operator: &str, scope: Scope) {
    table.push(Mutation { name: format!("{path}{operator}"), scope });
}

fn set<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}

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
        let digits = digits.ok_or_else(|| format!("`{value}` is no digest: 1 to 16 hexadecimal digits"))?;
        *self = Self(digits << (4 * (16 - value.len())));
        Ok(())
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

impl<T: Part> Part for Option<T> {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        row(table, path, "=none", Scope::Small);
        T::mutations(depth, path, table);
    }
    fn count(depth: Depth) -> usize {
        1 + T::count(depth)
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        match self {
            None => false,
            Some(_) if index == 0 => {
                *self = None;
                true
            }
            Some(part) => part.mutate(depth, index - 1, earlier.and_then(Self::as_ref), liar),
        }
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            None => f.write_str("none"),
            Some(part) => part.describe(f),
        }
    }
    fn letters(found: &mut Vec<Letter>) {
        T::letters(found);
    }
    fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
        match (self, lie) {
            (Some(part), Some(lie)) => part.changes(lie, path, found),
            _ => differ(path, Described(self).to_string(), Described(lie).to_string(), found),
        }
    }
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        match self {
            None => found.push((path.trim_start_matches('.').to_owned(), "none".to_owned())),
            Some(part) => part.fields(path, found),
        }
    }
    fn edit(&mut self, field: &str, value: &str, keys: NodeSet) -> Result<(), String> {
        match self {
            _ if field.is_empty() && value == "none" => *self = None,
            Some(part) => return part.edit(field, value, keys),
            None => return Err("nothing is there that could be set".to_owned()),
        }
        Ok(())
    }
    fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) {
        self.iter().for_each(|part| part.requests(found));
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        self.as_mut().is_some_and(|part| part.substitute(old, new, keys))
    }
}

/// The table descends one list level: the elements of a list inside a list cannot be named.
impl<T: Part> Part for Vec<T> {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        for operator in [".clear", ".drop-first", ".drop-last", ".repeat-last"] {
            row(table, path, operator, Scope::Small);
        }
        if depth.list == 0 {
            T::mutations(depth.list(), &format!("{path}.first"), table);
            T::mutations(depth.list(), &format!("{path}.last"), table);
        }
    }
    fn count(depth: Depth) -> usize {
        4 + if depth.list == 0 { 2 * T::count(depth.list()) } else { 0 }
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        if self.is_empty() {
            return false;
        }
        match index {
            0 => self.clear(),
            1 => drop(self.remove(0)),
            2 => drop(self.pop()),
            3 => self.extend(self.last().cloned()),
            _ => {
                let each = T::count(depth.list());
                let (index, first) = ((index - 4) % each, index - 4 < each);
                let earlier = earlier.and_then(|list| if first { list.first() } else { list.last() });
                let element = if first { self.first_mut() } else { self.last_mut() };
                return element.is_some_and(|part| part.mutate(depth.list(), index, earlier, liar));
            }
        }
        true
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, part) in self.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            part.describe(f)?;
        }
        f.write_str("]")
    }
    fn letters(found: &mut Vec<Letter>) {
        T::letters(found);
    }
    fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
        if self.len() != lie.len() {
            return differ(path, Described(self).to_string(), Described(lie).to_string(), found);
        }
        for (i, (part, lie)) in self.iter().zip(lie).enumerate() {
            part.changes(lie, &format!("{path}.{i}"), found);
        }
    }
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        for (i, part) in self.iter().enumerate() {
            part.fields(&format!("{path}.{i}"), found);
        }
    }
    fn edit(&mut self, field: &str, value: &str, keys: NodeSet) -> Result<(), String> {
        let (index, rest) = field.split_once('.').unwrap_or((field, ""));
        match index.parse().ok().and_then(|index: usize| self.get_mut(index)) {
            Some(part) => part.edit(rest, value, keys),
            None => no_field(field),
        }
    }
    fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) {
        self.iter().for_each(|part| part.requests(found));
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        self.iter_mut().fold(false, |changed, part| part.substitute(old, new, keys) | changed)
    }
}

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
}

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
}

impl<T: Part> Part for Arc<T> {
    fn mutations(depth: Depth, path: &str, table: &mut Vec<Mutation>) {
        T::mutations(depth, path, table);
    }
    fn count(depth: Depth) -> usize {
        T::count(depth)
    }
    fn mutate(&mut self, depth: Depth, index: usize, earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        Self::make_mut(self).mutate(depth, index, earlier.map(|e| &**e), liar)
    }
    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        T::describe(self, f)
    }
    fn letters(found: &mut Vec<Letter>) {
        T::letters(found);
    }
    fn changes(&self, lie: &Self, path: &str, found: &mut Vec<Change>) {
        T::changes(self, lie, path, found);
    }
    fn fields(&self, path: &str, found: &mut Vec<(String, String)>) {
        T::fields(self, path, found);
    }
    fn edit(&mut self, field: &str, value: &str, keys: NodeSet) -> Result<(), String> {
        Self::make_mut(self).edit(field, value, keys)
    }
    fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) {
        T::requests(self, found);
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        Self::make_mut(self).substitute(old, new, keys)
    }
}
