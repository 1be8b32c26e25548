//! The corpus of the crate under test: what a test has found, it runs again first.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, thread};

use turncoat_core::runner::Entry;
use turncoat_core::scenario::Scenario;
use turncoat_lab::corpus::{self, CorpusError};
use turncoat_lab::explain::Explanation;
use turncoat_lab::files;

/// The command of a crate that has one, as in the template of `turncoat new`.
const COMMAND: &str = "cargo run --features cli --";

/// Where a test keeps what it finds.
pub(crate) struct Kept {
    /// The folder of the crate.
    home: PathBuf,
    /// The folder of the corpus.
    folder: PathBuf,
    /// The test.
    pub(crate) test: String,
}

impl Kept {
    /// In this folder, or in that of the crate under test, of which cargo tells the tests that it runs.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let home = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
        let folder = folder.unwrap_or_else(|| home.join(corpus::FOLDER));
        // The thread of a test has its name.
        let test = thread::current().name().unwrap_or("main").to_owned();
        Self { home, folder, test }
    }

    /// Runs again what this test has found, with the flags that it has now; gives the first that still violates
    /// something, and notes what became of those before it.
    pub(crate) fn run_again(
        &self,
        entry: &Entry,
        base: &Scenario,
        notes: &mut Vec<String>,
    ) -> Result<Option<(PathBuf, Scenario)>, CorpusError> {
        let files = match corpus::entries(&self.folder) {
            Err(CorpusError::Missing(_)) => return Ok(None),
            files => files?,
        };
        for path in files {
            // Whatever else is in the folder is no concern of a test: `turncoat corpus run` says it.
            let Ok(saved) = files::read(&path) else { continue };
            if saved.protocol.name != entry.name || !saved.tests.contains(&self.test) {
                continue;
            }
            let scenario = with_flags_of(&saved, base);
            let judged = corpus::run_again(&path, entry, scenario.clone(), &mut || false);
            if judged.shown.is_some() {
                return Ok(Some((path, scenario)));
            }
            // The command judges it with the flags that are in its file.
            let remove = match scenario.protocol == saved.protocol && self.has_command() {
                true => format!("`{COMMAND} corpus prune` removes it"),
                false => format!("delete {} if you no longer need it", self.shown(&path)),
            };
            let (standing, name, why) = (judged.standing.name(), judged.name(), judged.why);
            notes.push(format!("{standing}: {name} {why}; {remove}"));
        }
        Ok(None)
    }

    /// Keeps a scenario for this test.
    pub(crate) fn save(
        &self,
        entry: &Entry,
        scenario: &Scenario,
        origin: String,
    ) -> Result<PathBuf, CorpusError> {
        let scenario = Scenario { tests: vec![self.test.clone()], ..scenario.clone() };
        corpus::save(&self.folder, entry, &scenario, &[origin]).map(|filed| filed.path)
    }

    /// What a failing test says: what was violated, the story, the chart, and what to type next.
    pub(crate) fn failure(
        &self,
        entry: &Entry,
        scenario: &Scenario,
        kept: Result<PathBuf, CorpusError>,
    ) -> String {
        // The story starts with what was violated.
        let explained = match Explanation::of(entry, scenario) {
            Ok(explained) => format!("{}\n\n{}", explained.short().trim_end(), explained.chart().trim_end()),
            Err(error) => error.to_string(),
        };
        let again = match kept {
            Ok(path) => {
                let file = self.shown(&path);
                let next = match self.has_command() {
                    true => format!(
                        "To read the whole story, to step through it in a browser, to run it again:\n    \
                         {COMMAND} explain {file} --long\n    \
                         {COMMAND} explore {file}\n    \
                         {COMMAND} replay {file}"
                    ),
                    false => format!("To run it again:\n    cargo test {}", self.test),
                };
                format!("It is saved as {file}, and this test runs it first from now on. {next}")
            }
            Err(error) => {
                format!("It could not be saved ({error}). This is the scenario:\n{}", scenario.to_toml())
            }
        };
        format!("{explained}\n\n{again}")
    }

    /// Whether the crate is a command that replays its own protocols.
    fn has_command(&self) -> bool {
        fs::read_to_string(self.home.join("src/main.rs")).is_ok_and(|main| main.contains("turncoat"))
    }

    /// A path as seen from the crate.
    fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.home).unwrap_or(path).display().to_string()
    }
}

/// A saved scenario with the flags of another. Flags say which protocol it is; no shrinking changes them.
fn with_flags_of(saved: &Scenario, base: &Scenario) -> Scenario {
    let mut scenario = saved.clone();
    let config = &mut Arc::make_mut(&mut scenario.protocol).config;
    match base.protocol.config.get("flags") {
        Some(flags) => drop(config.insert("flags".to_owned(), flags.clone())),
        None => drop(config.remove("flags")),
    }
    scenario
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    const FIGURE_2: &str = include_str!("../tests/golden/figure-2.toml");

    /// A crate of which a test has found figure 2 of the ByzzFuzz paper.
    fn crate_under_test() -> (TempDir, Kept, Entry, PathBuf) {
        let home = TempDir::new().expect("a folder");
        fs::create_dir(home.path().join("src")).expect("a folder");
        fs::write(home.path().join("src/main.rs"), "turncoat_cli::registry![Demo];").expect("a file");
        let folder = home.path().join(corpus::FOLDER);
        let kept = Kept { home: home.path().to_owned(), folder, test: "agrees".to_owned() };
        let entry =
            turncoat_protocols::all().into_iter().find(|entry| entry.name == "pbft").expect("a protocol");
        let scenario = Scenario { bug: None, ..Scenario::parse(FIGURE_2).expect("a scenario") };
        let path = kept.save(&entry, &scenario, "found".to_owned()).expect("it is saved");
        (home, kept, entry, path)
    }

    /// Whether something still fails, and what is said of the rest.
    fn again(kept: &Kept, entry: &Entry, base: &Scenario) -> (bool, Vec<String>) {
        let mut notes = Vec::new();
        let found = kept.run_again(entry, base, &mut notes).expect("a folder");
        (found.is_some(), notes)
    }

    #[test]
    fn what_no_longer_fails_is_said_with_how_to_remove_it() {
        let (_home, kept, entry, path) = crate_under_test();
        let flagged = Scenario::parse(FIGURE_2).expect("a scenario");
        let repaired = Scenario::new("pbft");
        assert_eq!(again(&kept, &entry, &flagged), (true, vec![]));

        // The flag is off; the command would still find it on in the file.
        let name = path.file_stem().unwrap_or_default().display().to_string();
        let fixed = format!("fixed: {name} no longer violates agreement; ");
        let delete = format!("{fixed}delete turncoat-corpus/{name}.toml if you no longer need it");
        assert_eq!(again(&kept, &entry, &repaired), (false, vec![delete]));

        // There never was a flag, and somebody has fixed the code.
        let saved = fs::read_to_string(&path).expect("a file");
        let without: String =
            saved.lines().filter(|line| !line.starts_with("flags")).map(|line| format!("{line}\n")).collect();
        fs::write(&path, &without).expect("a file");
        let prune = format!("{fixed}`cargo run --features cli -- corpus prune` removes it");
        assert_eq!(again(&kept, &entry, &repaired), (false, vec![prune]));

        fs::write(&path, without.replace("pre-prepare.seq+1", "pre-prepare.number+1")).expect("a file");
        let (fails, notes) = again(&kept, &entry, &repaired);
        assert!(!fails && notes[0].starts_with(&format!("stale: {name} no longer runs: step ")), "{notes:?}");
    }

    #[test]
    fn a_crate_that_is_a_command_replays_its_own() {
        let (_home, kept, entry, path) = crate_under_test();
        let scenario = Scenario::parse(FIGURE_2).expect("a scenario");
        let says = kept.failure(&entry, &scenario, Ok(path.clone()));
        let file = format!("turncoat-corpus/{}", path.file_name().unwrap_or_default().display());
        assert!(
            says.contains(&format!("\n    cargo run --features cli -- explain {file} --long\n")),
            "{says}"
        );
        assert!(says.ends_with(&format!("\n    cargo run --features cli -- replay {file}")), "{says}");
    }
}
