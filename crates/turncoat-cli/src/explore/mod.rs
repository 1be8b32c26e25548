//! The explorer: a server on this machine alone, and a page that shows what it says.
//!
//! All logic is here; the page is a view. A session is a scenario and the choices that were made in it, so that every answer
//! comes of executing the scenario again: undo, jumps and forks cost nothing more. `page/types.js` says what goes over the
//! wire.
//!
//! | a line that ... | lives in |
//! |---|---|
//! | answers a request, or refuses it | `server.rs` |
//! | knows whether somebody still waits for an answer | `waiting.rs` |
//! | knows all sessions and campaigns | `workspace.rs` |
//! | makes choices, forks, changes liars | `session.rs` |
//! | makes a run again, to be looked at | `replayed.rs` |
//! | shows a run as a whole | `view.rs`; at a place `moment.rs`; the states of replicas side by side `state.rs` |
//! | makes a file of a run | `export.rs` |
//! | lists what can be opened | `home.rs` |
//! | runs a campaign beside it all | `hunt.rs` |

mod export;
mod home;
mod hunt;
mod moment;
mod replayed;
mod server;
mod session;
mod split;
mod state;
mod view;
mod waiting;
mod workspace;

pub(crate) use server::serve;
pub(crate) use session::Session;
pub(crate) use waiting::Waiting;
pub(crate) use workspace::Workspace;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no such thing.
    Missing(String),
    /// It makes no sense.
    Bad(String),
    /// It makes sense, and cannot be done.
    Refused(String),
    /// It takes too long.
    Slow(String),
    /// Nobody reads that much.
    TooLong(String),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Bad(format!("{error:#}"))
    }
}
