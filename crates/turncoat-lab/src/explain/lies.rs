//! What a lie says: fields by their labels, with the truth beside them.

use turncoat_core::part::Change;
use turncoat_core::record::{Falsehood, SentCopy};

use super::read::{Run, kind};
use crate::words::and;

/// What a lie changed in one part of a message.
#[derive(Default)]
struct Place<'a> {
    /// The part, `P[0]`; nothing: the message itself.
    path: String,
    /// Fields that say the same now, with what they say.
    said: Vec<(Vec<&'a str>, String)>,
    /// Whose signatures do not fit any more.
    broken: Vec<&'a str>,
}

impl Run {
    /// What a lie says, in words: `n=2 instead of 1`.
    pub(super) fn lie(&self, copy: &SentCopy) -> Option<String> {
        match copy.lie.as_ref()? {
            Falsehood::MadeUp => Some("made up".to_owned()),
            Falsehood::Garbage => Some("bytes that do not decode".to_owned()),
            Falsehood::Changed(changes) => {
                let words = self.changes(changes, &self.names.short(&copy.text));
                // The same fields under another name.
                let other = kind(copy).to_uppercase();
                let retitled = !kind(copy).eq_ignore_ascii_case(copy.kind);
                let retitled = retitled.then(|| format!("{other} instead of {}", copy.kind.to_uppercase()));
                let words = retitled.into_iter().chain(Some(words).filter(|words| !words.is_empty()));
                Some(words.collect::<Vec<_>>().join(", "))
            }
        }
    }

    fn changes(&self, changes: &[Change], message: &str) -> String {
        let brief = |text: &str| match text.starts_with('[') {
            true => self.names.list(text),
            false => self.names.rename(text),
        };
        let mut places: Vec<Place<'_>> = Vec::new();
        for Change { field, was, is } in changes {
            let signed = field.strip_suffix("signature").map(|owner| owner.trim_end_matches('.'));
            let (path, name) = place(signed.unwrap_or(field));
            let found = places.iter().position(|place| place.path == path);
            let found = found.unwrap_or_else(|| {
                places.push(Place { path, ..Place::default() });
                places.len() - 1
            });
            let Place { said, broken, .. } = &mut places[found];
            if signed.is_some() {
                broken.extend(is.strip_prefix("bad of "));
                continue;
            }
            let words = format!("{} instead of {}", brief(is), brief(was));
            // A value says by itself what it is, unless the message names two.
            let value = self.names.rename(is);
            let plain = self.names.named(is) == [value.as_str()] && !message.contains(&format!(" {name}="));
            let name = if plain { "" } else { name };
            match said.iter_mut().find(|(_, known)| *known == words) {
                Some((names, _)) => names.push(name),
                None => said.push((vec![name], words)),
            }
        }
        let words = places.iter().map(|Place { path, said, broken }| {
            let said: Vec<String> = said.iter().map(|(names, words)| told(names, words)).collect();
            let said = said.join(", ");
            let broken = match broken.is_empty() {
                true => String::new(),
                false => format!("under a bad signature of {}", and(broken)),
            };
            match (path.is_empty(), broken.is_empty() || said.is_empty()) {
                (true, true) if said.is_empty() && places.len() > 1 => format!("and the whole {broken}"),
                (true, true) => format!("{said}{broken}"),
                (true, false) => format!("{said}, {broken}"),
                (false, true) => format!("in {path}: {said}{broken}"),
                (false, false) => format!("in {path}, {broken}: {said}"),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// `n=2 instead of 1`, `B instead of A`.
fn told(names: &[&str], words: &str) -> String {
    let names: Vec<&str> = names.iter().copied().filter(|name| !name.is_empty()).collect();
    if names.is_empty() { words.to_owned() } else { format!("{}={words}", names.join("=")) }
}

/// The part of a message that a field is in, and its label: `P.0.pre-prepare.v` is `v` in `P[0]`.
fn place(field: &str) -> (String, &str) {
    let parts: Vec<&str> = field.split('.').collect();
    let is_number = |part: &&str| part.bytes().all(|c| c.is_ascii_digit()) && !part.is_empty();
    let Some(last) = parts.iter().rposition(is_number) else {
        return match field.rsplit_once('.') {
            Some((path, name)) => (path.to_owned(), name),
            None => (String::new(), field),
        };
    };
    let mut path = String::new();
    for part in &parts[..=last] {
        match is_number(part) {
            true => path.push_str(&format!("[{part}]")),
            false if path.is_empty() => path.push_str(part),
            false => path.extend([".", part]),
        }
    }
    (path, if last + 1 == parts.len() { "" } else { parts[parts.len() - 1] })
}
