//! How something optional, a list, and what is behind a pointer can be changed.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{
    Change, Craft, Depth, Described, Letter, Liar, Mutation, Number, Part, Place, Scope, craft_row, differ,
    no_field, row,
};
use crate::client::Request;
use crate::ids::NodeSet;
use crate::sign::Signed;

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
            None => return Err("there is nothing to set".to_owned()),
        }
        Ok(())
    }
    fn requests(&self, found: &mut dyn FnMut(&Signed<Request>)) {
        self.iter().for_each(|part| part.requests(found));
    }
    fn substitute(&mut self, old: &Signed<Request>, new: &Signed<Request>, keys: NodeSet) -> bool {
        self.as_mut().is_some_and(|part| part.substitute(old, new, keys))
    }
    fn numbers(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        T::numbers(depth, path, place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        self.as_ref()?.number(at)
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        if depth.is_more_than_plain() {
            craft_row(found, path, "=none", place, NONE);
            craft_row(found, path, "=earlier", place, SEEN);
        }
        place.push(INSIDE);
        T::crafts(depth, path, place, found);
        place.pop();
    }
    fn craft(&mut self, at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        match (at, &mut *self) {
            ([NONE], Some(_)) => {
                *self = None;
                true
            }
            ([SEEN], _) => match earlier.cloned().flatten() {
                None => false,
                seen => {
                    *self = seen;
                    true
                }
            },
            ([INSIDE, rest @ ..], Some(part)) => part.craft(rest, earlier.and_then(Self::as_ref), liar),
            _ => false,
        }
    }
    fn look(&self, enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
        self.as_ref().is_some_and(|part| part.look(enough))
    }
}

/// The steps of something optional: into it, and its operators.
const INSIDE: u8 = 0;
const NONE: u8 = 1;
const SEEN: u8 = 2;

/// The steps of a list: into its entries, and its operators.
const FIRST: u8 = 0;
const LAST: u8 = 1;
const EACH: u8 = 2;
const DOUBLE: u8 = 3;
const SWAP: u8 = 4;
const EARLIER: u8 = 5;
const CLEAR: u8 = 6;
const DROP_FIRST: u8 = 7;
const DROP_LAST: u8 = 8;

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
    fn numbers(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        Number::add(path, place, found);
        for (i, end) in ["first", "last"].into_iter().enumerate().filter(|_| depth.list == 0) {
            place.push(i as u8);
            T::numbers(depth.list(), &format!("{path}.{end}"), place, found);
            place.pop();
        }
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        match at {
            [] => Some(self.len() as u64),
            [0, rest @ ..] => self.first()?.number(rest),
            [_, rest @ ..] => self.last()?.number(rest),
        }
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        if depth.is_more_than_plain() {
            for (step, operator) in
                [(CLEAR, ".clear"), (DROP_FIRST, ".drop-first"), (DROP_LAST, ".drop-last")]
            {
                craft_row(found, path, operator, place, step);
            }
        }
        for (step, operator) in [(DOUBLE, ".double"), (SWAP, ".swap"), (EARLIER, "=earlier")] {
            craft_row(found, path, operator, place, step);
        }
        // Of lists inside lists all entries are changed alike.
        let ends = [(FIRST, "first"), (LAST, "last")].into_iter().filter(|_| depth.list == 0);
        for (step, entries) in ends.chain([(EACH, "each")]) {
            place.push(step);
            T::crafts(depth.entries(step == EACH), &format!("{path}.{entries}"), place, found);
            place.pop();
        }
    }
    fn craft(&mut self, at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        let Some((&step, rest)) = at.split_first() else { return false };
        let Some(last) = self.len().checked_sub(1) else { return false };
        match step {
            FIRST => return self[0].craft(rest, earlier.and_then(|list| list.first()), liar),
            LAST => return self[last].craft(rest, earlier.and_then(|list| list.last()), liar),
            EACH => {
                let parts = self.iter_mut().enumerate();
                return parts.fold(false, |changed, (i, part)| {
                    part.craft(rest, earlier.and_then(|list| list.get(i)), liar) | changed
                });
            }
            DOUBLE if last > 0 => self[last] = self[0].clone(),
            SWAP if last > 0 => self.swap(0, last),
            EARLIER => match earlier {
                Some(list) => self.clone_from(list),
                None => return false,
            },
            CLEAR => self.clear(),
            DROP_FIRST => drop(self.remove(0)),
            DROP_LAST => drop(self.pop()),
            _ => return false,
        }
        true
    }
    fn look(&self, enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
        self.iter().any(|part| part.look(enough))
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
    fn numbers(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Number>) {
        T::numbers(depth, path, place, found);
    }
    fn number(&self, at: &[u8]) -> Option<u64> {
        T::number(self, at)
    }
    fn crafts(depth: Depth, path: &str, place: &mut Place, found: &mut Vec<Craft>) {
        T::crafts(depth, path, place, found);
    }
    fn craft(&mut self, at: &[u8], earlier: Option<&Self>, liar: &mut Liar<'_>) -> bool {
        Self::make_mut(self).craft(at, earlier.map(|e| &**e), liar)
    }
    fn look(&self, enough: &mut dyn FnMut(&dyn Any) -> bool) -> bool {
        T::look(self, enough)
    }
}
