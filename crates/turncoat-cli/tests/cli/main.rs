//! The command as its users meet it: exit codes, messages, files, JSON.

mod bad_input;
mod besides;
mod campaigns;
mod check;
mod ci;
mod config;
mod corpus;
mod enumerates;
mod experiments;
mod explains;
mod explore;
mod help;
mod lassos;
mod new;
mod replays;
mod report;
mod runs;
mod shards;
mod shrinks;
mod store;
mod suite;
mod tables;

use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin_cmd;
use serde_json::Value;
use tempfile::TempDir;

/// What the command left behind.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

/// A folder of its own to run in.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn turncoat(&self, args: &str) -> Ran {
        self.run(&args.split_whitespace().collect::<Vec<_>>())
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.run_with(&[], args)
    }

    /// With variables of the environment, and no others of ours.
    fn run_with(&self, variables: &[(&str, &str)], args: &[&str]) -> Ran {
        let mut command = cargo_bin_cmd!("turncoat");
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TURNCOAT_"))
        {
            command.env_remove(name);
        }
        let command = command.envs(variables.iter().copied()).current_dir(self.path()).args(args);
        let output = command.output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let code = output.status.code().expect("no signal ended it");
        Ran { code, out: text(output.stdout), err: text(output.stderr) }
    }
}

impl Ran {
    /// The last line of results, as JSON.
    fn json(&self) -> Value {
        let line = self.out.lines().last().unwrap_or_else(|| panic!("no output; {}", self.err));
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

fn turncoat(args: &str) -> Ran {
    Folder::new().turncoat(args)
}

/// Three of four replicas are down before the first request: nobody can get a reply, and nobody has promised one.
const OVER_BUDGET: &str = r#"
schema = 1
seed = 7
[protocol]
name = "pbft"
[cluster]
over-budget = true
[limits]
steps = 400
[[adversary.faults]]
step = 0
crash = "p1"
[[adversary.faults]]
step = 0
crash = "p2"
[[adversary.faults]]
step = 0
crash = "p3"
"#;

/// The network is calm, and the limit on events so low that nobody can get a reply.
const DOOMED: &str = r#"
schema = 1
seed = 7
[protocol]
name = "pbft"
[network.gst]
time = 0
[limits]
steps = 20
"#;

/// The same for a campaign: options that make every run end without a reply.
const DOOM: [&str; 8] =
    ["pbft", "--strategy", "none", "--set", "network.gst={time=0}", "--set", "limits.steps=20", "--json"];
