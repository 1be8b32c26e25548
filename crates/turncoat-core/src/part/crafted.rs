//! Lies that fit together: one edit of a message, and whatever follows from it.
//!
//! A row of the ordinary table changes one field, and a receiver that compares it with the others sees through the lie. A
//! crafted row changes a field and makes those fit that depend on it (`#[part(follows = ..)]`): another certificate with the
//! parent that it certifies, another request with its digest. It reaches any depth, as far as the liar's keys go: what others
//! have signed is never edited. It is left out, or exchanged for something else that was really said in this run.
//!
//! | type | crafted |
//! |---|---|
//! | [`Cert`], at any depth | `=genesis` (the one that nobody signed), `=older`, `=oldest`, `=newer`, `=other` (of the same numbers), `=gathered` (from votes seen, for what was never certified), `.double` (one signature twice, another left out), `.own` (the liar's signature, repeated) |
//! | [`Signed`] inside | `=older` (of the same signer), `=other` (of the same numbers, by anybody), a request also `=own` (the liar's, where replicas have requests of their own); the body, if the liar has signed it |
//! | `Vec`, at any depth | `.double` (the first entry in the place of the last), `.swap`, `=earlier`; the first, the last and each entry |
//! | what others follow from | numbers `+1`, `-1`; [`Digest`] `=null`, `=earlier`, `=fresh`; `bool` `=not`; `Option` `=none`, `=earlier`; `Vec` `.clear`, `.drop-first`, `.drop-last` |
//! | a body with a view | `.rest=older`: an earlier one, in the present view |
//!
//! A name ends with the fields that were made to fit: `prepare.justify=older+parent+height`.

use smallvec::SmallVec;

use super::{Number, Part, Place};
#[cfg(doc)]
use crate::hash::Digest;
use crate::sign::Cert;
#[cfg(doc)]
use crate::sign::Signed;

/// A crafted row: its name, and the way to what it changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Craft {
    /// The path of what is changed, the operator, and the fields that follow.
    pub name: String,
    /// A step for each part on the way; the last is the operator.
    pub place: Place,
    /// Whether it draws on an earlier message of the kind.
    pub recalls: bool,
}

/// In a step into a field: what depends on the field is made to fit.
pub const FOLLOW: u8 = 0x80;

/// The step of `.rest=older`.
pub const REST: u8 = 0x7f;

/// Writes one crafted row; for implementations of [`Part`].
pub fn craft_row(found: &mut Vec<Craft>, path: &str, operator: &str, place: &Place, step: u8) {
    let mut place = place.clone();
    place.push(step);
    let recalls = step == REST || operator == "=earlier";
    found.push(Craft { name: format!("{path}{operator}"), place, recalls });
}

/// Adds the names of the fields that follow to those of rows; for implementations of [`Part`].
pub fn with_followers(rows: &mut [Craft], followers: &str) {
    rows.iter_mut().for_each(|row| row.name.push_str(followers));
}

/// Compares parts of one type by their numbers: view first, as a rule.
pub(super) struct Rank(Vec<Number>);

impl Rank {
    pub(super) fn of<T: Part>() -> Self {
        let mut numbers = Vec::new();
        T::numbers(super::Depth::default(), "", &mut Place::new(), &mut numbers);
        Self(numbers)
    }

    pub(super) fn rank<T: Part>(&self, part: &T) -> SmallVec<[Option<u64>; 4]> {
        self.0.iter().map(|number| part.number(&number.place)).collect()
    }
}

/// The certificate operators, in the order of their steps.
pub(super) const CERT: [&str; 8] =
    ["=genesis", "=older", "=oldest", "=newer", "=other", "=gathered", ".double", ".own"];

/// Another certificate in the place of this one, from what was seen, or made of what was seen.
pub(super) fn other_cert<T: Part + PartialEq>(
    cert: &Cert<T>,
    step: u8,
    liar: &super::Liar<'_>,
) -> Option<Cert<T>> {
    let rank = Rank::of::<T>();
    let own = rank.rank(&**cert);
    let signed = |other: &Cert<T>| other.valid() && !other.signers().is_empty() && other != cert;
    match CERT.get(usize::from(step)).copied()? {
        "=genesis" => liar.seen.first(|other: &Cert<T>| other.signers().is_empty() && other.valid()),
        "=older" => liar.seen.last(|other: &Cert<T>| signed(other) && rank.rank(&**other) < own),
        "=oldest" => liar.seen.first(|other: &Cert<T>| signed(other) && rank.rank(&**other) < own),
        "=newer" => liar.seen.last(|other: &Cert<T>| signed(other) && rank.rank(&**other) > own),
        "=other" => {
            liar.seen.last(|other: &Cert<T>| signed(other) && **other != **cert && rank.rank(&**other) == own)
        }
        "=gathered" => liar.uncertified(&**cert),
        ".double" => {
            let mut lie = cert.clone();
            let first = *lie.signers().first()?;
            *lie.signers_mut().last_mut()? = first;
            Some(lie)
        }
        _ => {
            let own = liar.keys.iter().next()?;
            let mut lie = Cert::new(T::clone(cert), crate::ids::NodeSet::one(own));
            while lie.signers().len() < cert.signers().len() {
                lie.signers_mut().push(own);
            }
            (!cert.signers().is_empty()).then_some(lie)
        }
    }
}
