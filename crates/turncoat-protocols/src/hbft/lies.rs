//! Lies that change several fields of a message at once, so that they fit together, and those of Birke's thesis (Figure 3).
//!
//! The thesis' lies are drawn where an experiment names them. They move entries of histories as its implementation does, where a
//! history is a map: an entry that arrives at the number of another takes its place. Of small scope are a step of one and the first
//! or last entry; of any scope a step of 0 to 99, up or down, and any entry. P and X lose their proofs.

use turncoat_core::prelude::*;

use super::Config;
use super::messages::{Accepted, Cer2, Checkpoint, Msg, Placed, Placement, Value, Voted, digest};

/// An entry of a history, or of R.
trait Numbered: Copy {
    fn seq(&self) -> Slot;
    fn parts(&mut self) -> (&mut Slot, &mut Value);
}

impl Numbered for Placed {
    fn seq(&self) -> Slot {
        self.seq
    }
    fn parts(&mut self) -> (&mut Slot, &mut Value) {
        (&mut self.seq, &mut self.request)
    }
}

impl Numbered for Accepted {
    fn seq(&self) -> Slot {
        self.seq
    }
    fn parts(&mut self) -> (&mut Slot, &mut Value) {
        (&mut self.seq, &mut self.request)
    }
}

/// Which entry of a list.
#[derive(Clone, Copy)]
enum Which {
    First,
    Last,
    Any,
}

/// What is done to it.
#[derive(Clone, Copy)]
enum Edit {
    Remove(Which),
    Up(Which),
    Down(Which),
    /// Another request takes its place.
    Other(Which),
    Null(Which),
}

/// A step of any scope: 0, which changes nothing, to 99.
fn far(liar: &mut Liar<'_>) -> u32 {
    liar.rng.below(100)
}

/// Edits a list whose entries are in the order of their numbers; says whether anything changed.
fn edited<T: Numbered>(list: &mut Vec<T>, edit: Edit, liar: &mut Liar<'_>) -> bool {
    let (Edit::Remove(which) | Edit::Up(which) | Edit::Down(which) | Edit::Other(which) | Edit::Null(which)) =
        edit;
    let Some(last) = list.len().checked_sub(1) else { return false };
    let k = match which {
        Which::First => 0,
        Which::Last => last,
        Which::Any => liar.rng.index(list.len()),
    };
    let step = |liar: &mut Liar<'_>| if matches!(which, Which::Any) { far(liar) } else { 1 };
    let from = list[k].seq().0;
    let value = list[k].parts().1;
    let to = match edit {
        Edit::Remove(_) => {
            list.remove(k);
            return true;
        }
        Edit::Null(_) => return value.take().is_some(),
        Edit::Other(_) => {
            let other = liar.another_request(value.as_ref());
            *value = other.or(*value);
            return other.is_some();
        }
        Edit::Up(_) => from.saturating_add(step(liar)),
        Edit::Down(_) => from.saturating_sub(step(liar)),
    };
    let mut entry = list.remove(k);
    *entry.parts().0 = Slot(to);
    list.retain(|other| other.seq() != entry.seq());
    list.push(entry);
    list.sort_unstable_by_key(T::seq);
    to != from
}

/// A number of a message.
#[derive(Clone, Copy)]
enum Field {
    View,
    Seq,
    /// That of Q.
    Q,
}

/// Moves a number by a step of any scope.
fn shift(msg: &mut Msg, liar: &mut Liar<'_>, field: Field, up: bool) -> bool {
    let by = far(liar);
    let moved = |number: &mut u32| {
        *number = if up { number.saturating_add(by) } else { number.saturating_sub(by) };
    };
    by > 0
        && match (msg, field) {
            (Msg::Prepare(m), Field::View) => liar.edit(Arc::make_mut(m), |m| moved(&mut m.view.0)),
            (Msg::Prepare(m), Field::Seq) => liar.edit(Arc::make_mut(m), |m| moved(&mut m.seq.0)),
            (Msg::Commit(m), Field::View) => liar.edit(m, |m| moved(&mut m.view.0)),
            (Msg::Commit(m), Field::Seq) => liar.edit(m, |m| moved(&mut m.seq.0)),
            (Msg::CheckpointI(m), Field::Seq) => liar.edit(m, |m| moved(&mut m.seq.0)),
            (Msg::CheckpointIi(m), Field::Seq) => liar.edit(m, |m| moved(&mut m.seq.0)),
            (Msg::CheckpointIii(m), Field::Seq) => liar.edit(m, |m| moved(&mut m.seq.0)),
            (Msg::ViewChange(m), Field::View) => liar.edit(Arc::make_mut(m), |m| moved(&mut m.view.0)),
            (Msg::ViewChange(m), Field::Q) => {
                m.checkpoint.is_some()
                    && liar
                        .edit(Arc::make_mut(m), |m| m.checkpoint.iter_mut().for_each(|q| moved(&mut q.seq.0)))
            }
            (Msg::NewView(m), Field::View) => liar.edit(Arc::make_mut(m), |m| moved(&mut m.view.0)),
            _ => false,
        }
}

/// The history of a CHECKPOINT.
fn history(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    fn of<const PHASE: char>(m: &mut Signed<Checkpoint<PHASE>>, liar: &mut Liar<'_>, edit: Edit) -> bool {
        let mut list = m.history.to_vec();
        edited(&mut list, edit, liar) && liar.edit(m, |m| m.history = Arc::new(list))
    }
    match msg {
        Msg::CheckpointI(m) => of(m, liar, edit),
        Msg::CheckpointIi(m) => of(m, liar, edit),
        Msg::CheckpointIii(m) => of(m, liar, edit),
        _ => false,
    }
}

/// A certificate whose history is another, and nobody's.
fn forged<const PHASE: char>(
    cert: &Cert<Checkpoint<PHASE>>,
    liar: &mut Liar<'_>,
    change: impl FnOnce(&mut Checkpoint<PHASE>, &mut Liar<'_>) -> bool,
) -> Option<Cert<Checkpoint<PHASE>>> {
    let mut body = Checkpoint::clone(cert);
    let signers = cert.signers().iter().copied().collect();
    change(&mut body, liar).then(|| liar.certify(body, signers))
}

/// P. Its number is that of its last entry.
fn p(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    let Msg::ViewChange(m) = msg else { return false };
    let lie = m.certified.as_ref().and_then(|cert| {
        forged(cert, liar, |body, liar| {
            let mut list = body.history.to_vec();
            let changed = edited(&mut list, edit, liar);
            body.seq = list.last().map_or(Slot(0), |last| last.seq);
            body.history = Arc::new(list);
            changed
        })
    });
    lie.is_some_and(|lie| liar.edit(Arc::make_mut(m), |m| m.certified = Some(lie)))
}

/// Q.
fn q(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    let Msg::ViewChange(m) = msg else { return false };
    let Some(mut lie) = m.checkpoint.clone() else { return false };
    let mut list = lie.history.to_vec();
    let changed = edited(&mut list, edit, liar);
    lie.history = Arc::new(list);
    changed && liar.edit(Arc::make_mut(m), |m| m.checkpoint = Some(lie))
}

/// R.
fn r(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    let Msg::ViewChange(m) = msg else { return false };
    let mut list = m.accepted.clone();
    edited(&mut list, edit, liar) && liar.edit(Arc::make_mut(m), |m| m.accepted = list)
}

/// The history of X.
fn x(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    forge_x(msg, liar, |body, liar| {
        let mut list = body.history.to_vec();
        let changed = edited(&mut list, edit, liar);
        body.history = Arc::new(list);
        changed
    })
}

/// The number of X.
fn shift_x(msg: &mut Msg, liar: &mut Liar<'_>, step: impl Fn(u32, &mut Liar<'_>) -> u32) -> bool {
    forge_x(msg, liar, |body, liar| {
        let seq = Slot(step(body.seq.0, liar));
        std::mem::replace(&mut body.seq, seq) != seq
    })
}

fn forge_x(
    msg: &mut Msg,
    liar: &mut Liar<'_>,
    change: impl FnOnce(&mut Checkpoint<'3'>, &mut Liar<'_>) -> bool,
) -> bool {
    let Msg::NewView(m) = msg else { return false };
    let lie = m.stable.as_ref().and_then(|cert| forged(cert, liar, change));
    lie.is_some_and(|lie| liar.edit(Arc::make_mut(m), |m| m.stable = Some(lie)))
}

/// The history that votes call for.
pub(super) fn carried(votes: &[Voted], base: Option<&Cer2>, liar: &Liar<'_>) -> Placement {
    let f = liar.n.saturating_sub(1) / 3;
    let cluster = Cluster { n: liar.n, f, ..Cluster::default() };
    Arc::new(Config::default().carry_over(votes, base, &cluster))
}

/// The history of a NEW-VIEW.
fn m(msg: &mut Msg, liar: &mut Liar<'_>, edit: Edit) -> bool {
    let Msg::NewView(m) = msg else { return false };
    let mut list = m.history.to_vec();
    edited(&mut list, edit, liar) && liar.edit(Arc::make_mut(m), |m| m.history = Arc::new(list))
}

/// The lies that stand on their own, then those of the thesis: of which kind, in what, and what is done to it.
macro_rules! specials {
    ($($own:expr;)* @thesis $($kind:literal $place:ident { $($name:literal $edit:expr),* $(,)? })*) => {
        pub(super) const SPECIALS: &[Special<Msg>] = &[
            $($own,)*
            $($(Special::small($kind, $name, |msg, liar| $place(msg, liar, $edit)).by_name_only(),)*)*
        ];
    };
}

/// Up or down, by any step.
fn view(msg: &mut Msg, liar: &mut Liar<'_>, up: bool) -> bool {
    shift(msg, liar, Field::View, up)
}

fn seq(msg: &mut Msg, liar: &mut Liar<'_>, up: bool) -> bool {
    shift(msg, liar, Field::Seq, up)
}

fn seq_of_q(msg: &mut Msg, liar: &mut Liar<'_>, up: bool) -> bool {
    shift(msg, liar, Field::Q, up)
}

use Edit::{Down, Null, Other, Remove, Up};
use Which::{Any, First, Last};

specials! {
    Special::small("prepare", ".request=other+digest", |msg, liar| {
        let Msg::Prepare(m) = msg else { return false };
        let Some(request) = liar.another_request(Some(&m.request)) else { return false };
        liar.edit(Arc::make_mut(m), |m| (m.digest, m.request) = (request.digest(), request))
    });
    Special::small("commit", ".request=other+digest", |msg, liar| {
        let Msg::Commit(m) = msg else { return false };
        let Some(request) = liar.another_request(m.request.as_ref()) else { return false };
        liar.edit(m, |m| (m.digest, m.request) = (request.digest(), Some(request)))
    });
    Special::small("commit", ".request=null+digest", |msg, liar| {
        let Msg::Commit(m) = msg else { return false };
        m.request.is_some() && liar.edit(m, |m| (m.digest, m.request) = (digest(&None), None))
    });
    // One vote in the place of another.
    Special::small("new-view", ".votes=duplicate", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let Some(first) = m.votes.first().filter(|_| m.votes.len() > 1).cloned() else { return false };
        liar.edit(Arc::make_mut(m), |m| {
            m.votes.pop();
            m.votes.push(first);
        })
    });
    Special::small("new-view", ".history.append-null", |msg, liar| {
        let Msg::NewView(m) = msg else { return false };
        let seq = m.history.last().map_or(Slot(1), |placed| placed.seq.next());
        liar.edit(Arc::make_mut(m), |m| Arc::make_mut(&mut m.history).push(Placed { seq, request: None }))
    });
    // The votes of a view change for something else, in the view that a liar likes best.
    Special::small("view-change", ".accepted.last=other+view", |msg, liar| {
        let Msg::ViewChange(m) = msg else { return false };
        let Some(last) = m.accepted.last() else { return false };
        let (view, present) = (View(m.view.0.saturating_sub(1)), last.request);
        let Some(request) = liar.another_request(present.as_ref()) else { return false };
        liar.edit(Arc::make_mut(m), |m| {
            if let Some(last) = m.accepted.last_mut() {
                (last.request, last.view) = (Some(request), view);
            }
        })
    });
    @thesis
    "prepare" view { ".view+99" true, ".view-99" false }
    "prepare" seq { ".seq+99" true, ".seq-99" false }
    "commit" view { ".view+99" true, ".view-99" false }
    "commit" seq { ".seq+99" true, ".seq-99" false }
    "checkpoint-i" seq { ".seq+99" true, ".seq-99" false }
    "checkpoint-i" history {
        ".history.last+1" Up(Last), ".history.last-1" Down(Last),
        ".history.first+1" Up(First), ".history.first-1" Down(First),
        ".history.drop-any" Remove(Any), ".history.any+99" Up(Any), ".history.any-99" Down(Any),
    }
    "checkpoint-ii" seq { ".seq+99" true, ".seq-99" false }
    "checkpoint-ii" history {
        ".history.last+1" Up(Last), ".history.last-1" Down(Last),
        ".history.first+1" Up(First), ".history.first-1" Down(First),
        ".history.drop-any" Remove(Any), ".history.any+99" Up(Any), ".history.any-99" Down(Any),
    }
    "checkpoint-iii" seq { ".seq+99" true, ".seq-99" false }
    "checkpoint-iii" history {
        ".history.last+1" Up(Last), ".history.last-1" Down(Last),
        ".history.first+1" Up(First), ".history.first-1" Down(First),
        ".history.drop-any" Remove(Any), ".history.any+99" Up(Any), ".history.any-99" Down(Any),
    }
    "view-change" view { ".view+99" true, ".view-99" false }
    "view-change" p {
        ".certified.drop-last" Remove(Last), ".certified.drop-first" Remove(First),
        ".certified.last+1" Up(Last), ".certified.last-1" Down(Last),
        ".certified.first+1" Up(First), ".certified.first-1" Down(First),
        ".certified.last=other" Other(Last), ".certified.first=other" Other(First),
        ".certified.drop-any" Remove(Any), ".certified.any+99" Up(Any), ".certified.any-99" Down(Any),
    }
    "view-change" q {
        ".checkpoint.last+1" Up(Last), ".checkpoint.last-1" Down(Last),
        ".checkpoint.first+1" Up(First), ".checkpoint.first-1" Down(First),
        ".checkpoint.drop-any" Remove(Any), ".checkpoint.any+99" Up(Any), ".checkpoint.any-99" Down(Any),
    }
    "view-change" seq_of_q { ".checkpoint.seq+99" true, ".checkpoint.seq-99" false }
    "view-change" r {
        ".accepted.last+1" Up(Last), ".accepted.last-1" Down(Last),
        ".accepted.first+1" Up(First), ".accepted.first-1" Down(First),
        ".accepted.drop-any" Remove(Any), ".accepted.any+99" Up(Any), ".accepted.any-99" Down(Any),
    }
    "new-view" view { ".view+99" true, ".view-99" false }
    "new-view" shift_x {
        ".stable.seq+1" |seq, _: &mut Liar<'_>| seq.saturating_add(1),
        ".stable.seq-1" |seq, _: &mut Liar<'_>| seq.saturating_sub(1),
        ".stable.seq+99" |seq, liar: &mut Liar<'_>| seq.saturating_add(far(liar)),
        ".stable.seq-99" |seq, liar: &mut Liar<'_>| seq.saturating_sub(far(liar)),
    }
    "new-view" x {
        ".stable.drop-last" Remove(Last), ".stable.drop-first" Remove(First), ".stable.drop-any" Remove(Any),
    }
    "new-view" m {
        ".history.last+1" Up(Last), ".history.last-1" Down(Last),
        ".history.first+1" Up(First), ".history.first-1" Down(First),
        ".history.drop-any" Remove(Any), ".history.any+99" Up(Any), ".history.any-99" Down(Any),
        ".history.any=null" Null(Any),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turncoat_core::rng::Rng;

    /// The numbers of a history after an edit.
    fn numbers(before: &[u32], edit: Edit) -> (bool, Vec<u32>) {
        let mut liar =
            Liar { keys: NodeSet::EMPTY, rng: Rng::stream(1, 0), requests: &[], n: 4, seen: Seen::NOTHING };
        let mut list: Vec<Placed> = before.iter().map(|&n| Placed { seq: Slot(n), request: None }).collect();
        let changed = edited(&mut list, edit, &mut liar);
        (changed, list.iter().map(|placed| placed.seq.0).collect())
    }

    #[test]
    fn a_request_that_moves_to_the_number_of_another_takes_its_place() {
        assert_eq!(numbers(&[1, 2], Up(Last)), (true, vec![1, 3]));
        assert_eq!(numbers(&[1, 2], Down(Last)), (true, vec![1]));
        assert_eq!(numbers(&[1, 2, 4], Up(First)), (true, vec![2, 4]));
        assert_eq!(numbers(&[1, 2], Remove(First)), (true, vec![2]));
        assert_eq!(numbers(&[0], Down(First)), (false, vec![0]));
        assert_eq!(numbers(&[], Remove(Any)), (false, vec![]));
        let (_, far) = numbers(&[1, 2], Up(Any));
        assert!(far.is_sorted() && far.last() < Some(&102));
    }
}
