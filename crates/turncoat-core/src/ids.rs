//! The small numbers that everything is named by: nodes, seats, views, slots, time.
//!
//! Two kinds of name must never be mixed. A [`NodeId`] is an *identity*: it owns a key, votes, leads;
//! protocols see nothing else. A [`Seat`] is an *instance* of an identity inside one simulation: the kernel,
//! partitions and fault predicates name seats. Most identities have one seat. A twin or a liar with a persona
//! has two or more: `p0.a`, `p0.b`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The identity of a replica (`p0`, `p1`, ...) or of a client (`c0`, `c1`, ...).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(u8);

impl NodeId {
    /// The most replicas, and the most clients, that a cluster may have.
    pub const MAX: usize = 64;

    /// Replica number `index`.
    ///
    /// # Panics
    /// If `index` is not below [`NodeId::MAX`].
    pub const fn replica(index: usize) -> Self {
        assert!(index < Self::MAX);
        Self(index as u8)
    }

    /// Client number `index`.
    ///
    /// # Panics
    /// If `index` is not below [`NodeId::MAX`].
    pub const fn client(index: usize) -> Self {
        assert!(index < Self::MAX);
        Self((Self::MAX + index) as u8)
    }

    /// Whether this is a client.
    pub const fn is_client(self) -> bool {
        self.0 as usize >= Self::MAX
    }

    /// The number after the `p` or the `c`.
    pub const fn index(self) -> usize {
        self.0 as usize % Self::MAX
    }

    const fn bit(self) -> u128 {
        1 << self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_client() { 'c' } else { 'p' }, self.index())
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name that is not a node: says what a name looks like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` names no node: replicas are p0..p63, clients c0..c63, instances of one identity p0.a, p0.b")]
pub struct BadName(pub String);

impl FromStr for NodeId {
    type Err = BadName;
    fn from_str(s: &str) -> Result<Self, BadName> {
        let bad = || BadName(s.to_owned());
        let index =
            s.get(1..).and_then(|d| d.parse::<usize>().ok()).filter(|&i| i < Self::MAX).ok_or_else(bad)?;
        match s.as_bytes()[0] {
            b'p' => Ok(Self::replica(index)),
            b'c' => Ok(Self::client(index)),
            _ => Err(bad()),
        }
    }
}

/// Serialised as a name in readable formats, as one byte in compact ones.
impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() { s.collect_str(self) } else { s.serialize_u8(self.0) }
    }
}

impl<'de> Deserialize<'de> for NodeId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        use serde::de::Error;
        if d.is_human_readable() {
            String::deserialize(d)?.parse().map_err(D::Error::custom)
        } else {
            let raw = u8::deserialize(d)?;
            if usize::from(raw) < 2 * Self::MAX { Ok(Self(raw)) } else { Err(D::Error::custom("not a node")) }
        }
    }
}

/// A set of identities, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(into = "Vec<NodeId>")]
pub struct NodeSet(u128);

impl NodeSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The first `n` replicas.
    pub const fn replicas(n: usize) -> Self {
        assert!(n <= NodeId::MAX);
        Self(if n == 0 { 0 } else { u128::MAX >> (128 - n) })
    }

    /// The set with one member.
    pub const fn one(node: NodeId) -> Self {
        Self(node.bit())
    }

    /// Adds a member; says whether it is new.
    pub fn insert(&mut self, node: NodeId) -> bool {
        let new = !self.contains(node);
        self.0 |= node.bit();
        new
    }

    /// Removes a member.
    pub fn remove(&mut self, node: NodeId) {
        self.0 &= !node.bit();
    }

    /// Whether `node` is a member.
    pub const fn contains(self, node: NodeId) -> bool {
        self.0 & node.bit() != 0
    }

    /// How many members.
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The members of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members that `other` lacks.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether every member is in `other`.
    pub const fn is_subset(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The members in order, replicas first.
    pub fn iter(self) -> impl Iterator<Item = NodeId> {
        bits(self.0).map(NodeId)
    }
}

/// The positions of the ones, in two halves: machines count in words of 64 bits.
#[derive(Clone)]
struct Bits {
    low: u64,
    high: u64,
}

fn bits(set: u128) -> Bits {
    Bits { low: set as u64, high: (set >> 64) as u64 }
}

impl Iterator for Bits {
    type Item = u8;
    #[inline]
    fn next(&mut self) -> Option<u8> {
        let (word, base) = if self.low != 0 { (&mut self.low, 0) } else { (&mut self.high, 64) };
        let next = (*word != 0).then(|| word.trailing_zeros() as u8 + base);
        *word &= word.wrapping_sub(1);
        next
    }
}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> Self {
        Self(nodes.into_iter().fold(0, |set, node| set | node.bit()))
    }
}

impl From<NodeSet> for Vec<NodeId> {
    fn from(set: NodeSet) -> Self {
        set.iter().collect()
    }
}

impl<'de> Deserialize<'de> for NodeSet {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Vec::<NodeId>::deserialize(d)?.into_iter().collect())
    }
}

impl fmt::Display for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (i, node) in self.iter().enumerate() {
            write!(f, "{}{node}", if i == 0 { "" } else { "," })?;
        }
        f.write_str("}")
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An instance of an identity: an index into the nodes of one simulation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Seat(pub u8);

impl Seat {
    /// The index into tables that have one row per seat.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of seats, one bit each.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SeatSet([u64; 2]);

impl SeatSet {
    /// The first so many seats.
    pub const fn first(count: usize) -> Self {
        assert!(count <= 128);
        let all = if count == 0 { 0 } else { u128::MAX >> (128 - count) };
        Self([all as u64, (all >> 64) as u64])
    }
    /// The members of either.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self([self.0[0] | other.0[0], self.0[1] | other.0[1]])
    }
    /// The members that `other` lacks.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self([self.0[0] & !other.0[0], self.0[1] & !other.0[1]])
    }
    /// Adds a seat.
    pub fn insert(&mut self, seat: Seat) {
        self.0[usize::from(seat.0 >> 6 & 1)] |= 1 << (seat.0 & 63);
    }
    /// Removes a seat.
    pub fn remove(&mut self, seat: Seat) {
        self.0[usize::from(seat.0 >> 6 & 1)] &= !(1 << (seat.0 & 63));
    }
    /// Whether `seat` is a member.
    #[inline]
    pub const fn contains(self, seat: Seat) -> bool {
        self.0[(seat.0 >> 6 & 1) as usize] >> (seat.0 & 63) & 1 != 0
    }
    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0[0] | self.0[1] == 0
    }
    /// The members in order.
    pub fn iter(self) -> impl Iterator<Item = Seat> + Clone {
        Bits { low: self.0[0], high: self.0[1] }.map(Seat)
    }
}

/// How files name a seat: `p0` is every instance of the identity, `p0.b` the second one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeatName {
    /// The identity.
    pub node: NodeId,
    /// The instance (0 = `a`), or all of them.
    pub instance: Option<u8>,
}

impl From<NodeId> for SeatName {
    fn from(node: NodeId) -> Self {
        Self { node, instance: None }
    }
}

impl fmt::Display for SeatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.instance {
            None => self.node.fmt(f),
            Some(i) => write!(f, "{}.{}", self.node, (b'a' + i) as char),
        }
    }
}

impl fmt::Debug for SeatName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SeatName {
    type Err = BadName;
    fn from_str(s: &str) -> Result<Self, BadName> {
        let bad = |_| BadName(s.to_owned());
        match s.split_once('.') {
            None => Ok(Self { node: s.parse()?, instance: None }),
            Some((node, instance)) => match instance.as_bytes() {
                [i @ b'a'..=b'z'] => Ok(Self { node: node.parse().map_err(bad)?, instance: Some(i - b'a') }),
                _ => Err(BadName(s.to_owned())),
            },
        }
    }
}

impl Serialize for SeatName {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SeatName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map_err(serde::de::Error::custom)
    }
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $raw);

        /// Files know no numbers above `i64::MAX`.
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                let capped = if s.is_human_readable() { (self.0 as u64).min(i64::MAX as u64) } else { self.0 as u64 };
                s.serialize_newtype_struct(stringify!($name), &(capped as $raw))
            }
        }

        impl $name {
            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// A view, round or term of a protocol: the period of one leader.
    View(u32)
}
number! {
    /// A place in the replicated log: sequence number, height, instance.
    Slot(u32)
}
impl Slot {
    /// Where a decision is made, by what the protocol calls a slot: `in slot 2`, `at height 2`.
    pub fn within(self, word: &str) -> String {
        format!("{} {word} {self}", if word == "height" { "at" } else { "in" })
    }
}

number! {
    /// Virtual time, and lengths of it, in ticks. One tick is a millisecond unless a scenario says otherwise.
    Time(u64)
}

impl Time {
    /// So many times this, or the end of time.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl std::ops::Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["p0", "p63", "c0", "c63", "p3.b"] {
            assert_eq!(name.parse::<SeatName>().unwrap().to_string(), name);
        }
        for name in ["", "p", "p64", "x1", "p1.", "p1.B", "p-1", "é1"] {
            assert!(name.parse::<SeatName>().is_err(), "{name}");
        }
    }

    #[test]
    fn sets_hold_replicas_and_clients_apart() {
        let set: NodeSet = [NodeId::replica(2), NodeId::client(2), NodeId::replica(2)].into_iter().collect();
        assert_eq!(set.len(), 2);
        assert_eq!(set.to_string(), "{p2,c2}");
        assert_eq!(NodeSet::replicas(4).without(set).to_string(), "{p0,p1,p3}");
    }
}
