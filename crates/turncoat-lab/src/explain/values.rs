//! Values by short names, and messages in short.
//!
//! A trace names a value by its digest, or by the request that it is. A story calls them A, B, C, and says once what
//! that means.

use std::collections::{BTreeMap, BTreeSet};

use turncoat_core::client::Request;
use turncoat_core::hash::Digest;
use turncoat_core::ids::SeatName;
use turncoat_core::record::{Recording, SentCopy, What};

use crate::words::count;

/// More values than letters have longer names.
const LETTERS: usize = 26;

/// The names of all values of a run.
#[derive(Clone, Debug)]
pub(super) struct Names {
    values: Vec<Value>,
    /// Which value has a digest.
    digests: BTreeMap<Digest, usize>,
    /// Which value a text stands for.
    places: BTreeMap<String, usize>,
    /// The lengths of these texts: endless runs have thousands.
    lengths: BTreeSet<usize>,
}

#[derive(Clone, Debug)]
struct Value {
    name: String,
    request: Request,
    /// How messages write it.
    texts: [String; 2],
    /// Whether they write its digest.
    digested: bool,
    /// The liar who made it up.
    made_up_by: Option<SeatName>,
}

impl Names {
    /// What was asked for and what was decided, in this order.
    pub(super) fn of(recording: &Recording) -> Self {
        let mut requests = recording.requests.clone();
        for event in &recording.events {
            if let What::Commit { requests: decided, .. } = &event.what {
                requests.extend(decided);
            }
        }
        let mut known: Vec<Request> = Vec::new();
        requests.into_iter().for_each(|request| {
            if !known.contains(&request) {
                known.push(request);
            }
        });
        let few = known.len() <= LETTERS;
        // Where there are many, nobody looks digests up.
        let value = |(i, request): (usize, &Request)| {
            let text = format!("{}#{}:{}", request.client, request.ts, request.op);
            // What a replica proposes on its own says whose it is.
            let alone = || known.iter().filter(|other| other.op == request.op).count() == 1;
            let name = match few {
                true => char::from(b'A' + i as u8).to_string(),
                false if !request.client.is_client() && alone() => request.op.to_string(),
                false => text.clone(),
            };
            let digest = request.digest().to_string();
            let mut copies = recording.copies.iter();
            let digested = few && copies.any(|copy| stands_in(&copy.text, &digest));
            let names_it = |copy: &&SentCopy| {
                copy.lie.is_some() && (stands_in(&copy.text, &digest) || stands_in(&copy.text, &text))
            };
            let asked_for = !few || recording.requests.contains(request);
            let liar = if asked_for { None } else { recording.copies.iter().find(names_it) };
            let made_up_by = liar.map(|copy| copy.src);
            Value { name, request: *request, texts: [digest, text], digested, made_up_by }
        };
        let values: Vec<Value> = known.iter().enumerate().map(value).collect();
        let texts =
            values.iter().enumerate().flat_map(|(i, value)| value.texts.iter().map(move |text| (text, i)));
        let places: BTreeMap<String, usize> = texts.map(|(text, i)| (text.clone(), i)).collect();
        let lengths = places.keys().map(String::len).collect();
        let digests = values.iter().enumerate().rev().map(|(i, value)| (value.request.digest(), i)).collect();
        Self { values, digests, places, lengths }
    }

    /// The name of a decided value.
    pub(super) fn value(&self, id: Digest) -> String {
        match self.digests.get(&id) {
            Some(&i) => self.values[i].name.clone(),
            None if id == Digest::NULL => "no-op".to_owned(),
            None => id.to_string(),
        }
    }

    /// The name of a request.
    pub(super) fn request(&self, request: &Request) -> String {
        self.value(request.digest())
    }

    /// What the names mean, a line each. Those of many values mean what they say.
    pub(super) fn legend(&self) -> Vec<String> {
        let line = |Value { name, request, texts, digested, made_up_by }: &Value| {
            let Request { client, op, .. } = request;
            let digest = if *digested { format!(" (digest {})", texts[0]) } else { String::new() };
            match made_up_by {
                Some(liar) if liar.node == *client => format!("{name} = \"{op}\", made up by {liar}{digest}"),
                Some(liar) => format!("{name} = {}, \"{op}\", made up by {liar}{digest}", request.name()),
                None => format!("{name} = {}, \"{op}\"{digest}", request.name()),
            }
        };
        self.values.iter().take_while(|_| self.values.len() <= LETTERS).map(line).collect()
    }

    /// What the names in a text mean.
    pub(super) fn legend_of(&self, text: &str) -> Vec<String> {
        let used = |value: &Value| stands_in(text, &value.name);
        self.legend()
            .into_iter()
            .zip(&self.values)
            .filter(|(_, value)| used(value))
            .map(|(line, _)| line)
            .collect()
    }

    /// The values that a message names, each once, by their numbers.
    pub(super) fn within(&self, text: &str) -> Vec<usize> {
        let mut found = Vec::new();
        for (_, _, i) in self.places(text) {
            if !found.contains(&i) {
                found.push(i);
            }
        }
        found
    }

    /// The number of a decided value, unless it is a no-op.
    pub(super) fn number(&self, id: Digest) -> Option<usize> {
        self.digests.get(&id).copied()
    }

    /// The values that a message names, each once.
    pub(super) fn named(&self, text: &str) -> Vec<&str> {
        self.within(text).into_iter().map(|i| self.values[i].name.as_str()).collect()
    }

    /// The values in the lists of a message, each with the view for which it stands there, as far as that is written.
    pub(super) fn claims(&self, text: &str) -> Vec<(&str, Option<u32>)> {
        let mut claims = Vec::new();
        let lists = split(text, ' ').into_iter().filter_map(|word| Some(word.split_once('[')?.1));
        for item in lists.flat_map(|list| split(list.trim_end_matches(']'), ',')) {
            let view = ["v=", "view="].into_iter().find_map(|label| {
                let (_, rest) = item.split_once(label)?;
                rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
            });
            claims.extend(self.named(item).into_iter().map(|value| (value, view)));
        }
        claims.dedup();
        claims
    }

    /// A text with the names of values in the place of their digests.
    pub(super) fn rename(&self, text: &str) -> String {
        let mut renamed = String::new();
        let mut rest = 0;
        for (start, end, i) in self.places(text) {
            // A name may stand inside of another.
            if start < rest {
                continue;
            }
            renamed.push_str(&text[rest..start]);
            renamed.push_str(&self.values[i].name);
            rest = end;
        }
        renamed + &text[rest..]
    }

    /// A message in short: its kind, its fields, of a list only the values that its items name.
    pub(super) fn short(&self, text: &str) -> String {
        let mut words = split(text, ' ').into_iter();
        let mut short = words.next().unwrap_or_default().to_uppercase();
        let several = self.within(text).len() > 1;
        let mut last = None;
        for word in words {
            let (label, content) = word.split_once('=').unwrap_or(("", word));
            let value =
                (self.within(content).len() == 1 && !word.contains(['[', '('])).then(|| self.rename(content));
            let word = match value {
                // The digest of a request beside the request.
                Some(value) if last.as_ref() == Some(&value) => continue,
                Some(value) if several && !label.is_empty() => format!("{label}={value}"),
                Some(value) => last.insert(value).clone(),
                None if word.starts_with('[') => self.list(word),
                None if content.starts_with('[') => format!("{label}={}", self.list(content)),
                None => self.rename(word).split('=').map(number).collect::<Vec<_>>().join("="),
            };
            short.push(' ');
            short.push_str(&word);
        }
        short
    }

    /// A list in short.
    pub(super) fn list(&self, text: &str) -> String {
        let inner = text.trim_start_matches('[').trim_end_matches(']');
        let items = split(inner, ',');
        let long = |item: &&str| self.within(item).is_empty() && item.len() > 12 && !item.contains("=null");
        if !items.is_empty() && items.iter().all(long) {
            return format!("[{}]", count(items.len(), "item", "items"));
        }
        let items = items.into_iter().map(|item| match self.named(item) {
            named if !named.is_empty() => named.join("/"),
            _ if item.contains("=null") => "null".to_owned(),
            _ if long(&item) => "..".to_owned(),
            _ => item.trim().to_owned(),
        });
        format!("[{}]", items.collect::<Vec<_>>().join(", "))
    }

    /// Where values stand: start, end, and which.
    fn places(&self, text: &str) -> Vec<(usize, usize, usize)> {
        let mut places = Vec::new();
        // Names begin with a letter or a digit.
        let starts =
            text.char_indices().filter(|&(start, c)| c.is_alphanumeric() && is_edge(&text[..start], true));
        for (start, _) in starts {
            for length in &self.lengths {
                let Some((word, rest)) = text[start..].split_at_checked(*length) else { continue };
                // Few words end there, so that few are looked up.
                if is_edge(rest, false)
                    && let Some(&i) = self.places.get(word)
                {
                    places.push((start, start + length, i));
                }
            }
        }
        places
    }
}

/// Whether a word may end, or start, where this text starts, or ends.
fn is_edge(text: &str, before: bool) -> bool {
    let next = if before { text.chars().next_back() } else { text.chars().next() };
    next.is_none_or(|c| !c.is_alphanumeric() && !['#', '-', ':'].contains(&c))
}

/// Whether a whole word stands in a text.
pub(super) fn stands_in(text: &str, word: &str) -> bool {
    let mut found = text.match_indices(word);
    found.any(|(start, _)| is_edge(&text[..start], true) && is_edge(&text[start + word.len()..], false))
}

/// Splits at a separator, not within brackets.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (i, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            c if c == separator && depth == 0 => {
                found.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    found.push(&text[start..]);
    found.retain(|part| !part.trim().is_empty());
    found
}

/// Long numbers stand for anything; their first digits tell them apart.
fn number(word: &str) -> String {
    match word.len() > 8 && word.bytes().all(|c| c.is_ascii_digit()) {
        true => format!("{}..", &word[..4]),
        false => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use turncoat_core::client::Op;
    use turncoat_core::ids::NodeId;

    use super::*;

    /// Names of which A is a request of c0.
    fn names() -> Names {
        let request = Request { client: NodeId::client(0), ts: 1, op: Op::new("r1"), read_only: false };
        Names::of(&Recording { requests: vec![request], ..Recording::default() })
    }

    #[test]
    fn fields_in_brackets_keep_their_names() {
        let text = "notarized (view=1 block=null value=c0#1:r1) by [p1, p2]";
        assert_eq!(names().short(text), "NOTARIZED (view=1 block=null value=A) by [p1, p2]");
    }

    #[test]
    fn a_lone_value_needs_no_name() {
        assert_eq!(names().short("vote view=1 value=c0#1:r1"), "VOTE view=1 A");
    }
}
