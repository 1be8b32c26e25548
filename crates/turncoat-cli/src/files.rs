//! Scenario files: read with errors that name the file, written whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, anyhow, bail};
use turncoat_core::outcome::Violation;
use turncoat_core::scenario::{Expect, Scenario, Seed};
use turncoat_lab::shrink::Shrunk;
use turncoat_lab::summary::Finding;

/// Where `fuzz` keeps what it has found, under the current folder.
pub(crate) const CORPUS: &str = "turncoat-corpus";

/// Reads a scenario.
pub(crate) fn read(path: &Path) -> Result<Scenario> {
    Scenario::parse(&text(path)?).map_err(|error| anyhow!("{}: {error}", path.display()))
}

/// Reads the text of a file.
pub(crate) fn text(path: &Path) -> Result<String> {
    let name = path.display();
    if path.is_dir() {
        bail!("{name} is a folder: give a file");
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    String::from_utf8(bytes).map_err(|_| anyhow!("{name} is not text"))
}

/// Writes a scenario with what it showed, for people above, for `replay` inside.
pub(crate) fn write(
    path: &Path,
    notes: &[String],
    scenario: &Scenario,
    violation: Option<&Violation>,
    fingerprint: u64,
) -> Result<()> {
    let scenario = expecting(scenario, violation, fingerprint);
    let mut text = String::new();
    let violation = violation.map(ToString::to_string).unwrap_or_default();
    for line in violation.lines().chain(notes.iter().map(String::as_str)) {
        // A message of a crash may hold anything; a comment may not.
        text.extend(["# ", &line.replace(|c: char| c.is_control(), " "), "\n"]);
    }
    text.push_str(&scenario.to_toml());
    write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))
}

/// The scenario with what it showed.
pub(crate) fn expecting(scenario: &Scenario, violation: Option<&Violation>, fingerprint: u64) -> Scenario {
    let expect = Expect {
        property: violation.map(|violation| violation.property.name().to_owned()),
        fingerprint: Seed(fingerprint),
    };
    Scenario { expect: Some(expect), ..scenario.clone() }
}

/// Saves a violation, shrunk if somebody has shrunk it; gives the file's path, relative to the current folder.
pub(crate) fn save(finding: &Finding, shrunk: Option<&Shrunk>) -> Result<PathBuf> {
    fs::create_dir_all(CORPUS).with_context(|| format!("cannot make the folder {CORPUS}"))?;
    let Finding { violation, scenario, fingerprint, index } = finding;
    let protocol = &scenario.protocol.name;
    let saved = shrunk.map_or(*fingerprint, |shrunk| shrunk.fingerprint);
    let name = format!("{protocol}-{}-{:08x}.toml", violation.property, saved >> 32);
    let path = Path::new(CORPUS).join(name);
    match shrunk {
        None => write(&path, &[], scenario, Some(violation), *fingerprint)?,
        Some(Shrunk { scenario: small, violation, fingerprint, .. }) => {
            let origin = format!("shrunk from run {index} of a campaign, with seed {}", scenario.seed);
            write(&path, &[origin], small, Some(violation), *fingerprint)?;
        }
    }
    Ok(path)
}

/// Under a temporary name first: whoever reads `path` sees all of it or nothing.
pub(crate) fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", process::id()));
    let temporary = path.with_file_name(name);
    let written = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
