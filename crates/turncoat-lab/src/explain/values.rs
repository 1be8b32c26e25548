//! Values by short names, and messages in short.
//!
//! A trace names a value by its digest, or by the request that it is. A story calls them A, B, C, and says once what
//! that means.

use turncoat_core::client::Request;
use turncoat_core::hash::Digest;
use turncoat_core::record::{Recording, What};

use super::words::count;

/// More values than letters have longer names.
const LETTERS: usize = 26;

/// The names of all values of a run.
#[derive(Clone, Debug)]
pub(super) struct Names(Vec<Value>);

#[derive(Clone, Debug)]
struct Value {
    name: String,
    request: Request,
    /// How messages write it.
    texts: [String; 2],
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
        let value = |(i, request): (usize, &Request)| {
            let text = format!("{}#{}:{}", request.client, request.ts, request.op);
            let name = if few { char::from(b'A' + i as u8).to_string() } else { text.clone() };
            Value { name, request: *request, texts: [request.digest().to_string(), text] }
        };
        Self(known.iter().enumerate().map(value).collect())
    }

    /// The name of a decided value.
    pub(super) fn value(&self, id: Digest) -> String {
        match self.0.iter().find(|value| value.request.digest() == id) {
            Some(value) => value.name.clone(),
            None if id == Digest::NULL => "no-op".to_owned(),
            None => id.to_string(),
        }
    }

    /// The name of a request.
    pub(super) fn request(&self, request: &Request) -> String {
        self.value(request.digest())
    }

    /// What the names mean, a line each.
    pub(super) fn legend(&self) -> Vec<String> {
        let line = |Value { name, request, texts }: &Value| {
            // The upper bits tell the streams of a twin's instances apart.
            let number = request.ts & 0xff_ffff;
            format!(
                "{name} = request {number} of {}, \"{}\" (digest {})",
                request.client, request.op, texts[0]
            )
        };
        self.0.iter().map(line).collect()
    }

    /// What the names in a text mean.
    pub(super) fn legend_of(&self, text: &str) -> Vec<String> {
        let used = |value: &Value| !parts(text, &[value.name.as_str()]).is_empty();
        self.legend()
            .into_iter()
            .zip(&self.0)
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
        self.0.iter().position(|value| value.request.digest() == id)
    }

    /// The values that a message names, each once.
    pub(super) fn named(&self, text: &str) -> Vec<&str> {
        self.within(text).into_iter().map(|i| self.0[i].name.as_str()).collect()
    }

    /// A text with the names of values in the place of their digests.
    pub(super) fn rename(&self, text: &str) -> String {
        let mut renamed = String::new();
        let mut rest = 0;
        for (start, end, i) in self.places(text) {
            renamed.push_str(&text[rest..start]);
            renamed.push_str(&self.0[i].name);
            rest = end;
        }
        renamed + &text[rest..]
    }

    /// A message in short: its kind, its fields, of a list only the values that its items name.
    pub(super) fn short(&self, text: &str) -> String {
        let mut words = split(text, ' ').into_iter();
        let mut short = words.next().unwrap_or_default().to_uppercase();
        let mut last = None;
        for word in words {
            let (label, content) = word.split_once('=').unwrap_or(("", word));
            let value = (self.within(content).len() == 1 && !content.contains(['[', '(']))
                .then(|| self.rename(content));
            let word = match value {
                // The digest of a request beside the request.
                Some(value) if last.as_ref() == Some(&value) => continue,
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
        for (i, value) in self.0.iter().enumerate() {
            let texts = [value.texts[0].as_str(), value.texts[1].as_str()];
            places.extend(parts(text, &texts).into_iter().map(|(start, end)| (start, end, i)));
        }
        places.sort_unstable();
        places
    }
}

/// Where whole words stand in a text.
fn parts(text: &str, words: &[&str]) -> Vec<(usize, usize)> {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '#' || c == '-');
    let mut found = Vec::new();
    for word in words {
        for (start, _) in text.match_indices(word) {
            let end = start + word.len();
            let (before, after) = (text[..start].chars().next_back(), text[end..].chars().next());
            if !inside(before) && !inside(after) && before != Some(':') && after != Some(':') {
                found.push((start, end));
            }
        }
    }
    found
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
