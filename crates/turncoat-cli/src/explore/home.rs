//! What can be opened.

use std::fs;
use std::path::Path;

use serde::Serialize;
use turncoat_core::scenario::Scenario;
use turncoat_lab::corpus::{self, FOLDER};
use turncoat_lab::suite::Bug;

use super::Trouble;
use super::hunt::Campaign;
use super::workspace::{SessionInfo, Workspace};
use crate::registry;
use crate::rows::Rows;

/// A file larger than this is no scenario.
const LARGE: u64 = 4 << 20;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Home {
    version: &'static str,
    read_only: bool,
    first: Option<String>,
    protocols: Vec<ProtocolInfo>,
    strategies: Vec<StrategyInfo>,
    bugs: Vec<BugInfo>,
    files: Vec<FileInfo>,
    sessions: Vec<SessionInfo>,
    campaigns: Vec<Campaign>,
}

#[derive(Serialize)]
struct ProtocolInfo {
    name: &'static str,
    family: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct StrategyInfo {
    name: &'static str,
    about: &'static str,
    params: Vec<Param>,
}

#[derive(Serialize)]
struct Param {
    name: &'static str,
    default: &'static str,
    about: &'static str,
}

#[derive(Serialize)]
struct BugInfo {
    id: String,
    title: String,
    property: String,
    tier: u8,
    source: String,
    note: String,
    protocol: String,
    n: usize,
    flags: Vec<String>,
}

#[derive(Serialize)]
pub(super) struct FileInfo {
    pub(super) name: String,
    pub(super) kind: &'static str,
    about: String,
}

pub(super) fn home(workspace: &Workspace) -> Result<Home, Trouble> {
    let protocol = |entry: &turncoat_core::runner::Entry| ProtocolInfo {
        name: entry.name,
        family: entry.protocol,
        about: entry.about,
    };
    let strategy = |info: &turncoat_strategies::Info| StrategyInfo {
        name: info.name,
        about: info.about,
        params: info
            .params
            .iter()
            .map(|param| Param { name: param.name, default: param.default, about: param.about })
            .collect(),
    };
    Ok(Home {
        version: env!("CARGO_PKG_VERSION"),
        read_only: workspace.read_only,
        first: workspace.first.clone(),
        protocols: registry::protocols().map(protocol).collect(),
        strategies: registry::strategies().iter().map(strategy).collect(),
        bugs: Rows::embedded().bugs(&[])?.into_iter().map(bug).collect(),
        files: files(),
        sessions: workspace.infos(),
        campaigns: workspace.hunts.all(),
    })
}

fn bug(Bug { id, facts, witness, .. }: Bug) -> BugInfo {
    let flags = witness.protocol.config.get("flags").and_then(toml::Value::as_array);
    let flags = flags.into_iter().flatten().filter_map(|flag| flag.as_str().map(str::to_owned));
    BugInfo {
        id,
        title: facts.title,
        property: facts.property.to_string(),
        tier: facts.tier,
        source: facts.source,
        note: facts.note.unwrap_or_default(),
        protocol: witness.protocol.name.clone(),
        n: witness.cluster.n,
        flags: flags.collect(),
    }
}

/// Scenarios and databases in the present folder, and the corpus.
pub(super) fn files() -> Vec<FileInfo> {
    let mut paths: Vec<_> = fs::read_dir(".")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().strip_prefix(".").ok()?.to_owned()))
        .collect();
    paths.extend(corpus::entries(Path::new(FOLDER)).unwrap_or_default());
    paths.sort();
    paths.iter().filter_map(|path| info(path)).collect()
}

fn info(path: &Path) -> Option<FileInfo> {
    let name = path.to_str()?.to_owned();
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    match path.extension()?.to_str()? {
        "toml" if size <= LARGE => {
            let scenario = Scenario::parse(&fs::read_to_string(path).ok()?).ok()?;
            let violates = scenario.expect.as_ref().and_then(|expect| expect.property.clone());
            let violates = violates.map_or_else(String::new, |property| format!(", violates {property}"));
            Some(FileInfo { name, kind: "scenario", about: format!("{}{violates}", scenario.protocol.name) })
        }
        "db" | "sqlite" => {
            Some(FileInfo { name, kind: "database", about: format!("{} KB", size.div_ceil(1024)) })
        }
        _ => None,
    }
}
