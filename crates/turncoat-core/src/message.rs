//! Messages as the kernel sees them: a kind, a round, a slot, and a table of lies.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::flags::Flag;
use crate::ids::{Slot, View};
use crate::part::{Craft, Depth, Liar, Mutation, Number, Part, Scope};
use crate::scenario::{ScenarioError, invalid};

/// The round of a message: which view, which slot, which phase of the protocol. Ordered in that order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RoundKey {
    /// The view.
    pub view: View,
    /// The slot, 0 where the protocol has none.
    pub slot: Slot,
    /// The phase within them, from 1.
    pub phase: u8,
}

impl RoundKey {
    /// The number of a round among slots that follow each other, each with so many phases. A view change takes one more.
    pub(crate) fn number(self, phases: u32) -> u32 {
        let slots_before = self.slot.0.saturating_sub(1).saturating_mul(phases);
        slots_before.saturating_add(u32::from(self.phase).min(phases)).saturating_add(self.view.0)
    }

    /// How many rounds later than `old` it is, as ByzzFuzz counts. That can be none (the first proposal right after a
    /// view change); the kernel raises a counter by at least one.
    pub(crate) fn since(self, old: Self, phases: u32) -> u32 {
        let (from, to) = (u32::from(old.phase), u32::from(self.phase));
        match () {
            () if self.view > old.view => 1,
            () if self.slot > old.slot => (to + phases).saturating_sub(from),
            () => to.saturating_sub(from),
        }
    }
}

/// A protocol's messages: an enum with `#[derive(Message)]`.
pub trait Message: Part + PartialEq + Serialize + DeserializeOwned + 'static {
    /// The names of the kinds (the variants), in kebab-case.
    const KINDS: &'static [&'static str];
    /// For each kind, whether it carries state into the next view (`#[message(view_change)]`).
    const VIEW_CHANGE: &'static [bool];

    /// The index of this message's kind.
    fn kind(&self) -> u8;
    /// The round, if the kind has one.
    fn round(&self) -> Option<RoundKey>;
    /// The slot that the message is about, if any; also for kinds without a round.
    fn slot(&self) -> Option<Slot>;
    /// Appends the rows of `kind` to the table.
    fn mutations_of(kind: u8, table: &mut Vec<Mutation>);
    /// Appends the numbers in messages of `kind`.
    fn numbers_of(kind: u8, found: &mut Vec<Number>);
    /// Appends the crafted rows of `kind`.
    fn crafts_of(kind: u8, found: &mut Vec<Craft>);
}

/// All that can be done to each kind of a protocol's messages, by name.
///
/// Every kind ends with `omit`: not sending is a lie that every message allows.
#[derive(Debug, Default)]
pub struct MutationTable {
    kinds: Vec<Vec<Mutation>>,
    /// How many rows of each kind come before the crafted ones.
    plain: Vec<usize>,
    names: &'static [&'static str],
    flags: &'static [Flag],
}

/// A row of a [`MutationTable`], with what to do.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Lie {
    /// Apply this row of the kind's table.
    Mutate(u16),
    /// Do not send the message.
    Omit,
}

impl MutationTable {
    /// The table of `M`.
    pub fn of<M: Message>() -> Self {
        let mut table = Self { kinds: Vec::new(), plain: Vec::new(), names: M::KINDS, flags: &[] };
        for kind in 0..M::KINDS.len() as u8 {
            let (mut rows, mut crafts) = (Vec::new(), Vec::new());
            M::mutations_of(kind, &mut rows);
            M::crafts_of(kind, &mut crafts);
            table.plain.push(rows.len());
            // A lie that a protocol tells in its own words keeps its name.
            let mut names: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
            crafts.retain(|craft| names.insert(craft.name.clone()));
            rows.extend(crafts.into_iter().map(|Craft { name, place, recalls }| {
                let crafted = Some((place, recalls));
                Mutation { name, scope: Scope::Crafted, crafted }
            }));
            table.kinds.push(rows);
        }
        table
    }

    /// With the bug flags that a liar's code may run with.
    #[must_use]
    pub fn with_flags(self, flags: &'static [Flag]) -> Self {
        Self { flags, ..self }
    }

    /// The bug flags that a liar's code may run with, as far as they are known here.
    pub const fn flags(&self) -> &'static [Flag] {
        self.flags
    }

    /// The rows of a kind, `omit` excluded; the crafted ones come last.
    pub fn rows(&self, kind: u8) -> &[Mutation] {
        &self.kinds[usize::from(kind)]
    }

    /// The rows of a kind that change one field, or that a protocol has in its own words.
    pub(crate) fn plain(&self, kind: u8) -> &[Mutation] {
        &self.rows(kind)[..self.plain[usize::from(kind)]]
    }

    /// Applies one row of a kind to a message; `earlier` are messages of the same kind, newest first. The message may be of
    /// another kind: an earlier lie has passed it off as one. A crafted row knows only its own.
    pub(crate) fn apply<'a, M: Message>(
        &self,
        kind: u8,
        message: &M,
        row: u16,
        earlier: impl Iterator<Item = &'a M>,
        liar: &mut Liar<'_>,
    ) -> Option<M> {
        match &self.rows(kind)[usize::from(row)].crafted {
            None => apply(message, row, earlier, liar),
            Some(_) if message.kind() != kind => None,
            Some((place, recalls)) => {
                let most = if *recalls { CANDIDATES } else { 0 };
                craft(message, place, earlier.take(most), liar)
            }
        }
    }

    /// The names of the kinds.
    pub const fn kinds(&self) -> &'static [&'static str] {
        self.names
    }

    /// All rows in order, with their scope.
    pub fn iter(&self) -> impl Iterator<Item = (String, Scope)> {
        self.lies().map(|(kind, lie)| (self.name(kind, lie), self.scope(kind, lie)))
    }

    /// All lies in order, each with its kind.
    pub fn lies(&self) -> impl Iterator<Item = (u8, Lie)> {
        self.kinds.iter().enumerate().flat_map(|(kind, rows)| {
            let rows = (0..rows.len()).map(|row| Lie::Mutate(row as u16));
            rows.chain([Lie::Omit]).map(move |lie| (kind as u8, lie))
        })
    }

    /// The scope of a lie.
    pub fn scope(&self, kind: u8, lie: Lie) -> Scope {
        match lie {
            Lie::Mutate(row) => self.rows(kind)[usize::from(row)].scope,
            Lie::Omit => Scope::Small,
        }
    }

    /// The name of a lie.
    pub fn name(&self, kind: u8, lie: Lie) -> String {
        match lie {
            Lie::Mutate(row) => self.rows(kind)[usize::from(row)].name.clone(),
            Lie::Omit => format!("{}.omit", self.names[usize::from(kind)]),
        }
    }

    /// What a lie is about, without how it is changed: `pre-prepare.seq` for `pre-prepare.seq+1`.
    pub fn field(&self, kind: u8, lie: Lie) -> String {
        let name = self.name(kind, lie);
        let kind = self.names[usize::from(kind)];
        let rest = name[kind.len()..].trim_start_matches('.');
        let field = rest.split(['.', '=', '~', '+']).next().unwrap_or_default();
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let less = field.rsplit_once('-').filter(|(_, offset)| is_number(offset));
        match less.map_or(field, |(field, _)| field) {
            "" => kind.to_owned(),
            field => format!("{kind}.{field}"),
        }
    }

    /// The lies of a name, each with its kind: `prepare.view+1` is one, though it may be the first part of another's name;
    /// `prepare.view` is all of that field, `omit` is all omissions. Crafted lies have to be named in full.
    pub fn find(&self, name: &str) -> Vec<(u8, Lie)> {
        self.find_within(name, Scope::Any)
    }

    /// The same, with the crafted lies of a field if the scope has them.
    fn find_within(&self, name: &str, scope: Scope) -> Vec<(u8, Lie)> {
        let mut found = Vec::new();
        for (kind, rows) in self.kinds.iter().enumerate() {
            for (i, row) in rows.iter().enumerate() {
                if row.name == name {
                    return vec![(kind as u8, Lie::Mutate(i as u16))];
                }
                let asked = row.scope != Scope::Crafted || scope >= Scope::Crafted;
                let rest = row.name.strip_prefix(name).filter(|_| asked);
                if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '=', '+', '-', '~'])) {
                    found.push((kind as u8, Lie::Mutate(i as u16)));
                }
            }
            let kind_name = self.names[kind];
            if name == "omit" || name == kind_name || name.strip_suffix(".omit") == Some(kind_name) {
                found.push((kind as u8, Lie::Omit));
            }
        }
        found
    }

    /// [`MutationTable::find`], where a name that finds nothing is a mistake.
    pub(crate) fn known(&self, name: &str) -> Result<Vec<(u8, Lie)>, ScenarioError> {
        self.known_within(name, Scope::Any)
    }

    fn known_within(&self, name: &str, scope: Scope) -> Result<Vec<(u8, Lie)>, ScenarioError> {
        let rows = self.find_within(name, scope);
        if !rows.is_empty() {
            return Ok(rows);
        }
        let kind = name.split('.').next().unwrap_or(name);
        let plain = |&(ref near, near_scope): &(String, Scope)| {
            near.starts_with(kind) && (near_scope != Scope::Crafted || scope >= Scope::Crafted)
        };
        let near: Vec<String> = self.iter().filter(plain).map(|(near, _)| near).collect();
        let hint = if near.is_empty() { self.names.join(", ") } else { near.join(", ") };
        Err(invalid(format!("no mutation `{name}`; there are: {hint}")))
    }

    /// The lies of a list of names, by kind: those within a scope, and each that is named in full.
    pub(crate) fn listed(&self, names: &[String], scope: Scope) -> Result<Vec<Vec<Lie>>, ScenarioError> {
        let mut by_kind = vec![Vec::new(); self.kinds.len()];
        for name in names {
            let in_full = |kind, lie| self.scope(kind, lie) > Scope::Any && self.name(kind, lie) == *name;
            let mut rows = self.known_within(name, scope)?;
            rows.retain(|&(kind, lie)| self.scope(kind, lie) <= scope || in_full(kind, lie));
            if rows.is_empty() {
                return Err(invalid(format!("`{name}` is not a mutation of this scope")));
            }
            rows.into_iter().for_each(|(kind, lie)| by_kind[usize::from(kind)].push(lie));
        }
        Ok(by_kind)
    }
}

/// Applies one row of the table to a message; `earlier` are messages of the same kind, newest first.
pub fn apply<'a, M: Message>(
    message: &M,
    row: u16,
    earlier: impl Iterator<Item = &'a M>,
    liar: &mut Liar<'_>,
) -> Option<M> {
    let mut lie = message.clone();
    let row = usize::from(row);
    if lie.mutate(Depth::default(), row, None, liar) {
        return Some(lie);
    }
    for candidate in earlier {
        if lie.mutate(Depth::default(), row, Some(candidate), liar) {
            return Some(lie);
        }
    }
    None
}

/// Applies a crafted row to a message.
fn craft<'a, M: Message>(
    message: &M,
    place: &[u8],
    earlier: impl Iterator<Item = &'a M>,
    liar: &mut Liar<'_>,
) -> Option<M> {
    let mut told = |earlier: Option<&M>| {
        let mut lie = message.clone();
        (lie.craft(place, earlier, liar) && lie != *message).then_some(lie)
    };
    told(None).or_else(|| { earlier }.find_map(|earlier| told(Some(earlier))))
}

/// How many earlier messages a crafted lie looks at for one that it can use.
const CANDIDATES: usize = 16;

/// A mutation that changes several fields; see `#[message(specials = ...)]`.
pub struct Special<M: 'static> {
    /// The kind that it is for.
    pub kind: &'static str,
    /// The rest of its name: `.request=other+digest`.
    pub name: &'static str,
    /// Its scope.
    pub scope: Scope,
    lie: SpecialLie<M>,
}

/// What a special mutation does; says whether anything changed.
enum SpecialLie<M: 'static> {
    Invented(fn(&mut M, &mut Liar<'_>) -> bool),
    Recalled(fn(&mut M, &M, &mut Liar<'_>) -> bool),
}

impl<M> Special<M> {
    /// A special mutation of small scope.
    pub const fn small(
        kind: &'static str,
        name: &'static str,
        lie: fn(&mut M, &mut Liar<'_>) -> bool,
    ) -> Self {
        Self { kind, name, scope: Scope::Small, lie: SpecialLie::Invented(lie) }
    }

    /// A special mutation of small scope that draws on an earlier message of its kind.
    pub const fn recalled(
        kind: &'static str,
        name: &'static str,
        lie: fn(&mut M, &M, &mut Liar<'_>) -> bool,
    ) -> Self {
        Self { kind, name, scope: Scope::Small, lie: SpecialLie::Recalled(lie) }
    }

    /// The same, of any scope.
    #[must_use]
    pub const fn of_any_scope(self) -> Self {
        Self { scope: Scope::Any, ..self }
    }

    /// The same, for those who ask for it by name.
    #[must_use]
    pub const fn by_name_only(self) -> Self {
        Self { scope: Scope::Named, ..self }
    }

    /// Changes a message; says whether anything changed.
    pub fn apply(&self, message: &mut M, earlier: Option<&M>, liar: &mut Liar<'_>) -> bool {
        match self.lie {
            SpecialLie::Invented(lie) => lie(message, liar),
            SpecialLie::Recalled(lie) => earlier.is_some_and(|earlier| lie(message, earlier, liar)),
        }
    }
}

/// The rows of the special mutations of a kind.
pub fn special_rows<M: Message>(kind: u8, specials: &[Special<M>], table: &mut Vec<Mutation>) {
    let kind = M::KINDS[usize::from(kind)];
    for special in specials.iter().filter(|special| special.kind == kind) {
        table.push(Mutation { name: format!("{kind}{}", special.name), scope: special.scope, crafted: None });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn key(view: u32, slot: u32, phase: u8) -> RoundKey {
        RoundKey { view: View(view), slot: Slot(slot), phase }
    }

    #[test]
    fn rounds_go_on_from_slot_to_slot_and_from_view_to_view() {
        let numbers = [key(0, 1, 1), key(0, 1, 4), key(0, 2, 1), key(1, 2, 1)].map(|key| key.number(4));
        assert_eq!(numbers, [1, 4, 5, 6]);
        assert_eq!(key(0, 1, 3).since(key(0, 1, 1), 4), 2);
        assert_eq!(key(0, 2, 1).since(key(0, 1, 4), 4), 1);
        assert_eq!(key(1, 0, 5).since(key(0, 2, 3), 4), 1);
        assert_eq!(key(1, 1, 1).since(key(1, 0, 6), 4), 0, "the kernel makes it one");
        let most = key(u32::MAX, u32::MAX, u8::MAX);
        assert_eq!((most.number(4), most.since(RoundKey::default(), 4)), (u32::MAX, 1));
    }
}
