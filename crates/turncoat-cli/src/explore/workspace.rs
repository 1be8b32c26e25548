//! All that is open: sessions and campaigns.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use turncoat_core::ids::NodeSet;
use turncoat_core::scenario::Scenario;

use super::Trouble;
use super::home::files as home_files;
use super::hunt::Hunts;
use super::session::Session;
use super::waiting::Waiting;
use crate::files;
use crate::rows::Rows;
use crate::setup::{Setup, Start};

/// The most sessions at a time. The one that nobody has used for longest makes room.
const SESSIONS: usize = 128;

/// So many runs are kept whole, which for long ones is much. Others are made again when somebody looks.
const WHOLE: usize = 6;

/// All that is open.
pub(crate) struct Workspace {
    /// Nobody acts.
    pub(super) read_only: bool,
    /// The session that the command line asked for.
    pub(super) first: Option<String>,
    pub(super) hunts: Hunts,
    sessions: Mutex<Sessions>,
}

#[derive(Default)]
struct Sessions {
    next: u64,
    clock: u64,
    open: BTreeMap<String, (u64, Session)>,
    /// Whose runs are kept whole, the latest last.
    whole: Vec<String>,
}

impl Sessions {
    /// Somebody looks at a session.
    fn use_now(&mut self, id: &str) -> Option<Session> {
        self.clock += 1;
        let (used, session) = self.open.get_mut(id)?;
        *used = self.clock;
        let session = session.clone();
        self.whole.retain(|other| other != id);
        self.whole.push(id.to_owned());
        if self.whole.len() > WHOLE {
            let idle = self.whole.remove(0);
            let idle = self.open.get_mut(&idle);
            idle.into_iter().for_each(|(_, session)| session.replayed = Arc::default());
        }
        Some(session)
    }
}

/// What to open.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected `protocol`, `bug`, `file`, `text` with `name`, or `campaign` with `finding`"
)]
pub(super) enum Open {
    Protocol(Protocol),
    Bug { bug: String },
    File { file: String },
    Text { text: String, name: String },
    Finding { campaign: String, finding: usize },
}

/// A protocol, and its options.
#[derive(Deserialize)]
pub(super) struct Protocol {
    pub(super) protocol: String,
    n: Option<u8>,
    f: Option<u8>,
    clients: Option<u8>,
    requests: Option<u32>,
    #[serde(default)]
    byzantine: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
}

#[derive(Serialize)]
pub(super) struct SessionInfo {
    id: String,
    title: String,
    protocol: &'static str,
    runs: usize,
    choices: usize,
    violation: Option<String>,
}

impl Protocol {
    /// As options.
    pub(super) fn setup(&self) -> Setup {
        let byzantine = (!self.byzantine.is_empty()).then(|| {
            let names: Vec<String> = self.byzantine.iter().map(|name| format!("{name:?}")).collect();
            ("adversary.byzantine".to_owned(), format!("[{}]", names.join(",")))
        });
        let set = self.set.clone().into_iter().chain(byzantine);
        Setup::of([self.n, self.f, self.clients], self.requests, set)
    }

    fn scenario(&self) -> Result<Scenario> {
        Ok(self.setup().prepare(Start::protocol(&self.protocol)?, Some("none"))?.base)
    }
}

impl Workspace {
    /// A workspace with nothing on it, or with one session.
    pub(crate) fn new(first: Option<Session>, read_only: bool) -> Self {
        let workspace = Self { read_only, first: None, hunts: Hunts::default(), sessions: Mutex::default() };
        let first = first.map(|session| workspace.add(session));
        Self { first, ..workspace }
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        // A session is replaced as a whole: whoever panicked has left it as it was.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, session: Session) -> String {
        let mut sessions = self.sessions();
        if sessions.open.len() >= SESSIONS {
            let oldest = sessions.open.iter().min_by_key(|(_, (used, _))| *used).map(|(id, _)| id.clone());
            oldest.and_then(|id| sessions.open.remove(&id));
        }
        sessions.next += 1;
        let id = format!("s{}", sessions.next);
        sessions.open.insert(id.clone(), (0, session));
        // Whoever opens it wants to see it: that is made while the page loads.
        if let Some(wanted) = sessions.use_now(&id) {
            thread::spawn(move || wanted.replayed(0));
        }
        id
    }

    /// Opens something.
    pub(super) fn open(&self, open: &Open, waiting: &Waiting) -> Result<String, Trouble> {
        let session = match open {
            Open::Protocol(options) => Session::fresh(options.protocol.clone(), &options.scenario()?)?,
            Open::Bug { bug } => Session::bug(Rows::embedded().bug(bug)?, waiting)?,
            Open::File { file } => {
                if !home_files().iter().any(|known| known.name == *file) {
                    return Err(Trouble::Missing(format!("there is no file {file} in the list")));
                }
                let scenario =
                    files::read(Path::new(file)).map_err(|error| Trouble::Bad(error.to_string()))?;
                Session::of(file.clone(), &scenario, waiting).with_context(|| file.clone())?
            }
            Open::Text { text, name } => {
                let scenario = Scenario::parse(text).with_context(|| name.clone())?;
                Session::of(name.clone(), &scenario, waiting).with_context(|| name.clone())?
            }
            Open::Finding { campaign, finding } => {
                let (title, scenario) = self.hunts.finding(campaign, *finding)?;
                Session::of(title, &scenario, waiting)?
            }
        };
        Ok(self.add(session))
    }

    /// A session as it is now.
    pub(super) fn session(&self, id: &str) -> Result<Session, Trouble> {
        let missing = || format!("session {id} not found: it was closed or evicted");
        self.sessions().use_now(id).ok_or_else(|| Trouble::Missing(missing()))
    }

    /// Changes a session.
    pub(super) fn change<T>(
        &self,
        id: &str,
        change: impl Fn(&mut Session) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        if self.read_only {
            return Err(Trouble::Refused("this explorer is read-only".to_owned()));
        }
        loop {
            let mut session = self.session(id)?;
            let before = session.version;
            let answer = change(&mut session)?;
            session.version += 1;
            match self.sessions().open.get_mut(id) {
                // Somebody else was faster: their choices count first.
                Some((_, place)) if place.version != before => {}
                Some((_, place)) => {
                    *place = session;
                    return Ok(answer);
                }
                None => return Ok(answer),
            }
        }
    }

    /// The same choices, with other liars.
    pub(super) fn set_liars(&self, id: &str, names: &[String]) -> Result<(), Trouble> {
        let node = |name: &String| name.parse().map_err(|error| Trouble::Bad(format!("{error}")));
        let liars = names.iter().map(node).collect::<Result<NodeSet, Trouble>>()?;
        self.change(id, |session| {
            *session = session.with_liars(liars)?;
            Ok(())
        })
    }

    /// Closes a session.
    pub(super) fn close(&self, id: &str) -> Result<(), Trouble> {
        self.change(id, |_| Ok(()))?;
        self.sessions().open.remove(id);
        Ok(())
    }

    /// All sessions, the newest first.
    pub(super) fn infos(&self) -> Vec<SessionInfo> {
        let sessions = self.sessions();
        let mut open: Vec<_> = sessions.open.iter().collect();
        open.sort_by_key(|(_, (used, _))| std::cmp::Reverse(*used));
        let info = |(id, (_, session)): (&String, &(u64, Session))| SessionInfo {
            id: id.clone(),
            title: session.title.clone(),
            protocol: session.entry.name,
            runs: session.runs.len(),
            choices: session.runs.iter().map(|run| run.actions.len()).max().unwrap_or_default(),
            violation: session.runs.iter().find_map(|run| run.violation.clone()),
        };
        open.into_iter().map(info).collect()
    }
}
