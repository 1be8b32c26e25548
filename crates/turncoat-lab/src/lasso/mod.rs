//! Proofs that a run does not terminate.
//!
//! Once the network is calm and nothing is random any more, the present state determines all that follows. If a state recurs,
//! up to a renaming of blocks and a renumbering of views, heights and requests, and nothing was decided in between, then
//! nothing will ever be decided: the part between the two moments repeats forever.
//!
//! [`find`] looks for such a part, and [`prove`] says whether it is one, and what it takes. They share no code: what is
//! found is not believed because it was found. Both rest on what a protocol tells as the *essence* of its nodes, and on
//! the claim that it treats views, heights, requests and blocks alike whatever they are called: it compares them, adds
//! small numbers to them, and asks who leads a view. A test looks for a protocol that does not.

mod check;
mod find;
mod grows;

pub use check::{Flaw, Proof, check, prove, same};
pub use find::{Verdict, find};

/// The names and numbers of a world may differ from those of another; distances of less than this may not. No protocol
/// adds more to a view or a height.
pub const NEAR: u64 = 16;
