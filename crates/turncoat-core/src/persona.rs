//! A second face: one lasting, consistent lie, told by a second instance of a Byzantine identity.
//!
//! The instance has the identity's key, its own state and timers. It hears all that the identity hears; what
//! it *believes* is edited between mailbox and handler. Each receiver hears one face: the persona if it is
//! named there, else the first instance. Edits inside another node's signature break that signature, as in
//! life, so that honest code of the persona rejects them where it verifies.

use crate::client::Request;
use crate::fault::{Edit, Form, Persona};
use crate::ids::{NodeId, NodeSet, Seat};
use crate::message::Message;
use crate::sign::Signed;
use crate::tokens::Token;

/// A persona at work.
#[derive(Debug)]
pub(crate) struct Face {
    pub(crate) of: NodeId,
    /// Its own seat; the first instance's for `form = "outgoing"`.
    pub(crate) seat: Seat,
    pub(crate) form: Form,
    /// The fault that wakes it.
    pub(crate) fault: u16,
    pub(crate) awake: bool,
    to: NodeSet,
    at_view_change: NodeSet,
    overlap: bool,
    edits: Vec<Edit>,
    /// For `own-order`: the payload held back, with its sender, or that the swap is over.
    held: Option<(Seat, u32)>,
    swapped: bool,
    /// The requests that it has been handed, in order.
    heard: Vec<Request>,
}

/// What a persona makes of a message that comes in.
#[derive(Debug, PartialEq)]
pub(crate) enum Input<M> {
    /// Hears it.
    Hear,
    /// Never hears it.
    Ignore,
    /// Keeps it for later.
    Keep,
    /// Hears this, then what it kept from that seat.
    ThenKept(Seat, u32),
    /// Hears this instead.
    Instead(M),
    /// Hears of this request first.
    After(Signed<Request>),
}

impl Face {
    pub(crate) fn new(spec: &Persona, seat: Seat, fault: u16, awake: bool) -> Self {
        Self {
            of: spec.of,
            seat,
            form: spec.form,
            fault,
            awake,
            to: spec.to.iter().copied().collect(),
            at_view_change: spec.at_view_change.as_ref().unwrap_or(&spec.to).iter().copied().collect(),
            overlap: spec.overlap,
            edits: spec.edits.clone(),
            held: None,
            swapped: false,
            heard: Vec::new(),
        }
    }

    /// Counts a request that came in before the face woke up.
    pub(crate) fn overhear<M: Message>(&mut self, msg: &M, bare: bool) {
        if bare {
            msg.requests(&mut |request| {
                if !self.heard.contains(request) {
                    self.heard.push(**request);
                }
            });
        }
    }

    /// Whether `dst` hears this face.
    pub(crate) fn speaks_to(&self, dst: NodeId, view_change: bool) -> bool {
        self.awake && (if view_change { self.at_view_change } else { self.to }).contains(dst)
    }

    /// Whether `dst` hears the first instance too.
    pub(crate) const fn overlaps(&self, view_change: bool) -> bool {
        self.overlap && !view_change
    }

    /// Whether what it makes of messages depends on the requests of the run, and not on slots alone.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.edits.iter().any(|edit| match edit {
            Edit::OwnOrder => !self.swapped,
            Edit::Sub { .. } | Edit::World { .. } => true,
            Edit::Forget(_) | Edit::Stale(_) | Edit::Mute => false,
        })
    }

    /// The slots that it treats in a way of their own: in a state that comes back they are the same ones.
    pub(crate) fn essence(&self, out: &mut Vec<Token>) {
        let slots = self.edits.iter().filter_map(|edit| match *edit {
            Edit::Forget(slot) | Edit::Stale(slot) => Some(slot),
            Edit::OwnOrder | Edit::Sub { .. } | Edit::World { .. } | Edit::Mute => None,
        });
        out.extend(slots.map(|slot| Token::Slot(slot.into())));
    }

    pub(crate) fn mute(&self) -> bool {
        self.edits.contains(&Edit::Mute)
    }

    /// What the face makes of a message. `bare` says that it is a request on its own, not inside a proposal.
    pub(crate) fn input<M: Message>(
        &mut self,
        from: Seat,
        payload: u32,
        msg: &M,
        bare: bool,
        pool: &[Signed<Request>],
        keys: NodeSet,
    ) -> Input<M> {
        let slot = msg.slot();
        let mut request = None;
        msg.requests(&mut |found| request = request.or(Some(*found)));
        for i in 0..self.edits.len() {
            match self.edits[i] {
                Edit::Forget(s) if slot.is_some_and(|slot| slot.0 == s) => return Input::Ignore,
                Edit::Stale(s) if slot.is_some_and(|slot| slot.0 >= s) => return Input::Ignore,
                Edit::OwnOrder if bare && !self.swapped => {
                    let Some(request) = request else { continue };
                    match self.held {
                        None if !self.heard.contains(&request) => {
                            self.heard.push(*request);
                            self.held = Some((from, payload));
                            return Input::Keep;
                        }
                        Some((seat, kept)) if !self.heard.contains(&request) => {
                            self.swapped = true;
                            self.held = None;
                            return Input::ThenKept(seat, kept);
                        }
                        // A repeat of the request that it keeps.
                        _ => return Input::Ignore,
                    }
                }
                Edit::Sub { slot: s, with } | Edit::World { slot: s, with } => {
                    let Some(old) = request else {
                        if matches!(self.edits[i], Edit::World { .. }) && slot.is_some_and(|slot| slot.0 == s)
                        {
                            let mut lie = msg.clone();
                            if pool.iter().any(|old| self.swap(&mut lie, old, with, pool, keys)) {
                                return Input::Instead(lie);
                            }
                        }
                        continue;
                    };
                    if bare {
                        let new_to_it = !self.heard.contains(&old);
                        if new_to_it {
                            self.heard.push(*old);
                        }
                        if new_to_it && self.heard.len() == s as usize {
                            match other(pool, &old, with) {
                                Some(first) if !self.heard.contains(&first) => return Input::After(first),
                                _ => {}
                            }
                        }
                    } else if slot.is_some_and(|slot| slot.0 == s) {
                        let mut lie = msg.clone();
                        if self.swap(&mut lie, &old, with, pool, keys) {
                            return Input::Instead(lie);
                        }
                    }
                }
                _ => {}
            }
        }
        Input::Hear
    }

    /// What the outgoing form makes of a message that the only instance sends to `to`; nothing: not sent.
    pub(crate) fn output<M: Message>(&self, msg: &M, pool: &[Signed<Request>], keys: NodeSet) -> Option<M> {
        let slot = msg.slot();
        let mut lie = msg.clone();
        for edit in &self.edits {
            match *edit {
                Edit::Mute => return None,
                Edit::Forget(s) if slot.is_some_and(|slot| slot.0 == s) => return None,
                Edit::Stale(s) if slot.is_some_and(|slot| slot.0 >= s) => return None,
                Edit::Sub { slot: s, with } | Edit::World { slot: s, with }
                    if slot.is_some_and(|slot| slot.0 == s) =>
                {
                    let _ = pool.iter().any(|old| self.swap(&mut lie, old, with, pool, keys));
                }
                _ => {}
            }
        }
        Some(lie)
    }

    fn swap<M: Message>(
        &self,
        lie: &mut M,
        old: &Signed<Request>,
        with: usize,
        pool: &[Signed<Request>],
        keys: NodeSet,
    ) -> bool {
        other(pool, old, with).is_some_and(|new| lie.substitute(old, &new, keys))
    }
}

/// The `with`-th submitted request other than `old`; wraps around.
fn other(pool: &[Signed<Request>], old: &Signed<Request>, with: usize) -> Option<Signed<Request>> {
    let others = pool.iter().filter(|request| *request != old);
    let count = others.clone().count();
    (count > 0).then(|| others.clone().nth(with % count).copied()).flatten()
}
