//! Names what keeps a state from coming back.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::slice::Iter;

use turncoat_core::tokens::Token;

/// A world as a tree.
enum Tree<'a> {
    Leaf(&'a Token),
    List(Vec<(Option<&'static str>, Self)>),
}

/// The fields that differ between two worlds by more than names and the numbers of views, slots and requests, each with
/// the nodes in whose state it is.
pub(super) fn grows(before: &[Token], after: &[Token]) -> Vec<String> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((place, one), (_, other)) in parts(before).iter().zip(&parts(after)) {
        let mut paths = Vec::new();
        compare("", one, other, &mut paths);
        paths.dedup();
        for path in paths {
            found.entry(path).or_default().push(place.clone());
        }
    }
    let words = |(path, mut places): (String, Vec<String>)| {
        places.dedup();
        let places = places.join(", ");
        if path.is_empty() { places } else { format!("`{path}` of {places}") }
    };
    found.into_iter().map(words).collect()
}

/// The nodes with their states, and what is around them, each by its name.
fn parts(world: &[Token]) -> Vec<(String, Tree<'_>)> {
    let mut tokens = world.iter().peekable();
    let mut parts = Vec::new();
    while let Some(token) = tokens.next() {
        let Token::Field(name) = token else { continue };
        let node = tokens.next_if(|token| *name == "node" && matches!(token, Token::Text(_)));
        let name = match node {
            Some(Token::Text(node)) => node.clone(),
            _ => (*name).to_owned(),
        };
        let mut values = elements(&mut tokens, true);
        // What a node shows in one piece needs no number of its own.
        let piece = values.iter().position(|(_, tree)| matches!(tree, Tree::List(_)));
        let lists = values.iter().filter(|(_, tree)| matches!(tree, Tree::List(_))).count();
        let tree = match (node, piece) {
            (Some(_), Some(at)) if lists == 1 => values.swap_remove(at).1,
            _ => Tree::List(values),
        };
        parts.push((name, tree));
    }
    parts
}

/// The elements up to the end of a list, or up to the next part of the world.
fn elements<'a>(
    tokens: &mut Peekable<Iter<'a, Token>>,
    outermost: bool,
) -> Vec<(Option<&'static str>, Tree<'a>)> {
    let mut elements = Vec::new();
    let mut field = None;
    while let Some(token) = tokens.next_if(|token| !(outermost && matches!(token, Token::Field(_)))) {
        match token {
            Token::Close => break,
            Token::Field(name) => field = Some(*name),
            Token::Open => elements.push((field.take(), Tree::List(self::elements(tokens, false)))),
            leaf => elements.push((field.take(), Tree::Leaf(leaf))),
        }
    }
    elements
}

/// Appends where two trees differ by more than names.
fn compare(path: &str, one: &Tree<'_>, other: &Tree<'_>, found: &mut Vec<String>) {
    match (one, other) {
        (Tree::List(one), Tree::List(other)) if one.len() == other.len() => {
            for (index, ((field, one), (_, other))) in one.iter().zip(other).enumerate() {
                match field {
                    Some(field) if path.is_empty() => compare(field, one, other, found),
                    Some(field) => compare(&format!("{path}.{field}"), one, other, found),
                    None if path.is_empty() => compare(&format!("{index}"), one, other, found),
                    None => compare(path, one, other, found),
                }
            }
        }
        (Tree::Leaf(one), Tree::Leaf(other)) if one == other || (is_name(one) && is_name(other)) => {}
        _ => found.push(path.to_owned()),
    }
}

/// Whether a token may differ in a state that comes back.
const fn is_name(token: &Token) -> bool {
    matches!(token, Token::View(_) | Token::Slot(_) | Token::Count(_) | Token::Digest(_))
}

#[cfg(test)]
mod tests {
    use serde::Serialize;
    use turncoat_core::ids::View;
    use turncoat_core::tokens::write;

    use super::*;

    #[derive(Serialize)]
    struct Replica {
        view: View,
        timeouts: u64,
        inner: Inner,
    }

    #[derive(Serialize)]
    struct Inner {
        log: Vec<u32>,
    }

    fn world(view: u32, timeouts: u64, log: usize) -> Vec<Token> {
        let mut out = Vec::new();
        for node in ["p0", "p1"] {
            out.extend([Token::Field("node"), Token::Text(node.to_owned())]);
            let inner = Inner { log: vec![0; if node == "p0" { log } else { 0 }] };
            write(&Replica { view: View(view), timeouts, inner }, &mut out);
            out.push(Token::Count(u64::from(view)));
        }
        out.push(Token::Field("timers"));
        out
    }

    #[test]
    fn what_grows_is_named_with_its_nodes() {
        assert_eq!(grows(&world(1, 0, 2), &world(5, 0, 2)), [""; 0]);
        assert_eq!(grows(&world(1, 0, 2), &world(5, 0, 3)), ["`inner.log` of p0"]);
        assert_eq!(grows(&world(1, 0, 2), &world(5, 4, 2)), ["`timeouts` of p0, p1"]);
    }
}
