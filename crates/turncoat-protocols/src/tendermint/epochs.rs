//! Heights and epochs as views and rounds, for all that is built like Tendermint.

use turncoat_core::prelude::*;

/// How many epochs of a height have a number.
const EPOCHS: u32 = 1000;
/// How many heights have one.
const HEIGHTS: u32 = 1_000_000;

/// The number of an epoch among those of all heights.
pub const fn place(height: Slot, epoch: View) -> View {
    let is_some = height.0 < HEIGHTS && epoch.0 < EPOCHS;
    View(if is_some { EPOCHS * height.0 + epoch.0 } else { 0 })
}

/// The height and the epoch of such a number.
const fn split(view: View) -> (u32, u32) {
    (view.0 / EPOCHS, view.0 % EPOCHS)
}

/// See [`Protocol::view_name`]: the paper calls an epoch a round.
pub fn name(view: View) -> String {
    let (height, epoch) = split(view);
    format!("height {height}, round {epoch}")
}

/// proposer(h, e): all take turns, unless the scenario says who.
pub fn proposer(height: Slot, epoch: View, cluster: &Cluster) -> NodeId {
    let nth = height.0 as usize + epoch.0 as usize;
    match nth.checked_sub(1).and_then(|index| cluster.leaders.get(index)) {
        Some(&leader) => leader,
        None => NodeId::replica(nth % cluster.n),
    }
}

/// See [`Protocol::leader`].
pub fn leader(view: View, cluster: &Cluster) -> NodeId {
    let (height, epoch) = split(view);
    proposer(Slot(height), View(epoch), cluster)
}

/// See [`Protocol::origin`]: heights start with 1, epochs with 0.
pub const fn origin() -> RoundKey {
    RoundKey { view: place(Slot(1), View(0)), slot: Slot(1), phase: 0 }
}

/// See [`Protocol::nth_view`].
pub const fn nth_view(view: View) -> u32 {
    let (height, epoch) = split(view);
    height + epoch
}

/// See [`Protocol::number`]: three rounds per epoch, assuming one epoch for each earlier height.
pub fn number(key: RoundKey) -> u32 {
    let nth = nth_view(key.view);
    nth.saturating_sub(1) * 3 + if nth == 0 { 0 } else { u32::from(key.phase).min(3) }
}

/// See [`Protocol::advance`]: three rounds per epoch, and three more per height, whatever the epoch was.
pub fn advance(old: RoundKey, new: RoundKey) -> u32 {
    let ((height, epoch), (to_height, to_epoch)) = (split(old.view), split(new.view));
    let epochs = if to_height == height { to_epoch - epoch } else { to_height - height + to_epoch };
    (3 * epochs + u32::from(new.phase.min(3))).saturating_sub(u32::from(old.phase.min(3)))
}
