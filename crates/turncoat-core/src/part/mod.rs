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
//!
//! Behind those of each kind come the crafted ones, which change a field and what follows from it: see [`crafted`].

use std::any::Any;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

pub use self::crafted::{Craft, FOLLOW, REST, craft_row, with_followers};
pub(crate) use self::liar::Past;
pub use self::liar::{Liar, Seen};
#[cfg(doc)]
use crate::client::Op;
use crate::client::Request;
#[cfg(doc)]
use crate::hash::Digest;
#[cfg(doc)]
use crate::ids::NodeId;
use crate::ids::NodeSet;
#[cfg(doc)]
use crate::sign::Cert;
use crate::sign::Signed;

pub mod crafted;
mod liar;
mod lists;
mod signed;
mod values;

/// How far a mutated value may lie from the true one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Neighbouring values and values seen in this run.
    #[default]
    Small,
    /// Those and arbitrary values of the right shape.
    Any,
    /// Those, and lies that fit together: an edit with all that follows from it ([`crafted`]). No strategy draws them by default.
    Crafted,
    /// All of these, and those that somebody has to ask for by name: what a publication does and nobody else would.
    /// No file or parameter can say this.
    #[serde(skip)]
    Named,
}

/// A row of the mutation table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mutation {
    /// `kind.field` and operator.
    pub name: String,
    /// The smallest scope that contains it.
    pub scope: Scope,
    /// Of a crafted row: the way to what it changes, and whether it draws on an earlier message.
    pub(crate) crafted: Option<(Place, bool)>,
}

/// A field that differs between a lie and the truth.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Change {
    /// Its label, as in a trace, after those of the parts that it is in: `n`, `P.0.votes`.
    pub field: String,
    /// The truth.
    pub was: String,
    /// The lie.
    pub is: String,
}

/// Where in a message a number stands: which field, which field of that, and so on. Of a list, 0 is its first element and 1 its last.
pub type Place = SmallVec<[u8; 6]>;

/// A number in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Number {
    /// Its name: `n`, `P.first.v`.
    pub name: String,
    /// Where it stands.
    pub place: Place,
}

impl Number {
    /// Appends the number at this place; for implementations of [`Part`].
    pub fn add(path: &str, place: &Place, found: &mut Vec<Self>) {
        found.push(Self { name: path.trim_start_matches('.').to_owned(), place: place.clone() });
    }
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
    /// Inside a field of a body, rather than the body itself.
    inner: bool,
    /// Something follows from it.
    fits: bool,
    /// It is one entry of a list, rather than each.
    one: bool,
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
    /// In a field of a body.
    #[must_use]
    pub const fn field(self) -> Self {
        Self { inner: true, ..self }
    }
    /// In something that other fields follow from.
    #[must_use]
    pub const fn followed(self) -> Self {
        Self { fits: true, ..self }
    }
    /// In the entries of a list: one of them, or each.
    const fn entries(self, each: bool) -> Self {
        Self { one: !each, inner: true, ..self.list() }
    }
    /// Whether to drop it is more than the ordinary table has: something follows from it, or it is too deep for that table.
    const fn is_more_than_plain(self) -> bool {
        self.fits || self.signed > 1 || self.list > 0
    }
    /// Whether this is the body of a message, rather than a part of it.
    pub const fn is_body(self) -> bool {
        !self.inner
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
pub trait Part: Clone + 'static {
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

    /// Appends the numbers in this part, each by the name that [`Part::changes`] gives it and with its place; a list says how long
    /// it is. `place` is where the part stands.
    fn numbers(_depth: Depth, _path: &str, _place: &mut Place, _found: &mut Vec<Number>) {}

    /// The number at a place below this part, if one is there.
    fn number(&self, _number_at: &[u8]) -> Option<u64> {
        None
    }

    /// Shows each signed request in this part.
    fn requests(&self, _found: &mut dyn FnMut(&Signed<Request>)) {}

    /// Replaces request `old`, and its digest, by `new` wherever it stands; says whether anything changed.
    fn substitute(&mut self, _old: &Signed<Request>, _new: &Signed<Request>, _keys: NodeSet) -> bool {
        false
    }

    /// Appends the crafted rows of this part, each name starting with `path`. `place` is where the part stands.
    fn crafts(_depth: Depth, _path: &str, _place: &mut Place, _found: &mut Vec<Craft>) {}

    /// Applies the crafted row with this place below the part; `earlier` is as for [`Part::mutate`]. Says whether anything changed.
    fn craft(&mut self, _at: &[u8], _earlier: Option<&Self>, _liar: &mut Liar<'_>) -> bool {
        false
    }

    /// Shows this part and those inside it, as far as somebody may look for them, until that is enough; says whether it was.
    fn look(&self, _enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
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

    /// Whether a liar could have said something of this type in its own name: see [`Part::own`].
    const OWN: bool = false;

    /// What a liar says in its own name in the place of `present`, where that may be anybody's.
    fn own(_present: &Signed<Self>, _liar: &Liar<'_>) -> Option<Signed<Self>> {
        None
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
    *place = value.parse().map_err(|_| format!("`{value}` is not a valid value of this field"))?;
    Ok(())
}

/// Writes one row; for implementations of [`Part`].
pub fn row(table: &mut Vec<Mutation>, path: &str, operator: &str, scope: Scope) {
    table.push(Mutation { name: format!("{path}{operator}"), scope, crafted: None });
}

fn set<T: PartialEq>(place: &mut T, value: T) -> bool {
    let changed = *place != value;
    *place = value;
    changed
}
