//! `turncoat new`: a crate with a small protocol, to be replaced with your own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::{Context, Result, bail, ensure};
use serde_json::json;

use crate::exit::Exit;
use crate::{out, registry};

const NOTES: &str = "\
The crate has a protocol, tests that run it among Byzantine replicas, a bug that can be turned on, and, with the feature \
`cli`, this whole command with your protocol in it. It depends on the sources that this command was built from and copies \
their Cargo.lock, so it builds without a network.

Example: turncoat new demo && cd demo && cargo test";

/// Create a crate with a small protocol to replace with your own
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// The name of the crate, its protocol and its folder: lower-case letters, digits, `-` and `_`
    #[arg(value_name = "NAME")]
    name: String,

    /// The sources of turncoat to depend on [default: those that this command was built from]
    #[arg(long, value_name = "DIR", conflicts_with = "git")]
    path: Option<PathBuf>,

    /// A git repository to depend on instead
    #[arg(long, value_name = "URL")]
    git: Option<String>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The files of the crate, which is one itself: `demo`, in `template`. The links in `skeleton` lead there, because cargo
/// does not package a folder that has a manifest.
const FILES: [(&str, &str); 7] = [
    (".gitignore", include_str!("../../skeleton/gitignore")),
    ("Cargo.toml", include_str!("../../skeleton/manifest.toml")),
    ("README.md", include_str!("../../skeleton/README.md")),
    ("rustfmt.toml", include_str!("../../skeleton/rustfmt.toml")),
    ("src/lib.rs", include_str!("../../skeleton/lib.rs")),
    ("src/main.rs", include_str!("../../skeleton/main.rs")),
    ("tests/demo.rs", include_str!("../../skeleton/demo.rs")),
];

/// How the template depends on turncoat.
const DEPENDS: &str = r#"path = "../../turncoat""#;

/// What its manifest has besides: the template itself is part of another workspace.
const ALONE: &str = r#"
# Tests run the protocol many thousand times, so it and turncoat are optimised; other crates build faster without.
[profile.dev]
opt-level = 2
debug = "line-tables-only"
[profile.dev.package."*"]
opt-level = 0
debug = false
[profile.dev.package.turncoat-core]
opt-level = 2
[profile.dev.package.turncoat-lab]
opt-level = 1
[profile.dev.package.turncoat-strategies]
opt-level = 1
[profile.dev.package.rand_chacha]
opt-level = 2
[profile.dev.package.xxhash-rust]
opt-level = 2

[workspace] # The crate is its own workspace, whatever folder it is in.
"#;

pub(crate) fn new(args: &Args) -> Result<Exit> {
    let name = &args.name;
    fits(name)?;
    let folder = Path::new(name);
    ensure!(folder.symlink_metadata().is_err(), "`{name}` exists already: give another name");
    if let Some(url) = &args.git {
        ensure!(
            url.contains("://") || url.contains('@'),
            "`{url}` is not the address of a git repository: give one such as https://example.org/turncoat.git"
        );
    }
    let sources = if args.git.is_some() { None } else { Some(sources(args.path.as_deref())?) };
    let depends = match (&args.git, &sources) {
        (Some(url), _) => format!("git = {}", quoted(url)),
        (None, sources) => {
            let facade = sources.iter().map(|sources| sources.join("crates/turncoat")).collect::<PathBuf>();
            let text = facade.to_str().with_context(|| format!("{} is not text", facade.display()))?;
            format!("path = {}", quoted(text))
        }
    };
    // Under a temporary name first: there is all of it or nothing.
    let temporary = PathBuf::from(format!(".{name}.{}.tmp", process::id()));
    let lock = sources.map(|sources| sources.join("Cargo.lock")).filter(|lock| lock.is_file());
    let written = write(&temporary, name, &depends, lock.as_deref())
        .and_then(|()| Ok(fs::rename(&temporary, folder)?))
        .with_context(|| format!("cannot write the folder {name}"));
    if written.is_err() {
        let _ = fs::remove_dir_all(&temporary);
    }
    written?;
    if args.json {
        let files: Vec<String> = FILES.iter().map(|(path, _)| filled(path, name)).collect();
        out::json("new", json!({ "name": name, "folder": name, "files": files }))?;
    } else {
        out::line(format_args!(
            "{name}/ has a small protocol, tests that run it among Byzantine replicas, and a bug to switch on"
        ))?;
        out::line(format_args!("  cd {name} && cargo test"))?;
        out::line(format_args!("  cargo run --features cli -- check {name}"))?;
        out::line(format_args!("  cargo run --features cli -- fuzz {name} --with unsigned"))?;
    }
    Ok(Exit::Clean)
}

/// Whether a crate, and a protocol, can have this name.
fn fits(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(plain) {
        bail!(
            "`{name}` cannot name a crate: use lower-case letters, digits, `-` and `_`, and begin with a letter"
        );
    }
    if TAKEN.contains(&name) {
        bail!("`{name}` means something else to Rust or to cargo: give another name, such as `my-{name}`");
    }
    if registry::protocols().any(|entry| entry.name == name) {
        bail!("there is a protocol `{name}` already: give another name, such as `my-{name}`");
    }
    Ok(())
}

/// Names that a crate cannot have: keywords, folders of cargo, crates that it needs.
#[rustfmt::skip]
const TAKEN: [&str; 67] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn", "else",
    "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro", "match", "mod",
    "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
    "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "build", "deps",
    "examples", "incremental", "alloc", "core", "proc_macro", "proc-macro", "std", "test", "serde", "turncoat",
    "turncoat-cli", "turncoat_cli", "turncoat-core", "turncoat_core",
];

/// The sources of turncoat.
fn sources(given: Option<&Path>) -> Result<PathBuf> {
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = given.unwrap_or(&built_from);
    let is_there = folder.join("crates/turncoat/Cargo.toml").is_file();
    match (is_there, given) {
        (true, _) => folder.canonicalize().with_context(|| format!("cannot read {}", folder.display())),
        (false, Some(_)) => bail!(
            "no sources of turncoat in {}: there is no crates/turncoat/Cargo.toml. Give the folder of a checkout",
            folder.display()
        ),
        (false, None) => bail!(
            "the sources that this command was built from are gone: give others with --path DIR or --git URL"
        ),
    }
}

fn write(folder: &Path, name: &str, depends: &str, lock: Option<&Path>) -> Result<()> {
    for (path, text) in FILES {
        let path = folder.join(filled(path, name));
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let end = if path.ends_with("Cargo.toml") { ALONE } else { "" };
        fs::write(path, filled(text, name).replace(DEPENDS, depends) + end)?;
    }
    lock.map_or(Ok(()), |lock| fs::copy(lock, folder.join("Cargo.lock")).map(drop))?;
    Ok(())
}

/// A text of the template with the name in it.
fn filled(text: &str, name: &str) -> String {
    text.replace("demo::", &format!("{}::", name.replace('-', "_"))).replace("demo", name)
}

/// A string as TOML has it.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}
