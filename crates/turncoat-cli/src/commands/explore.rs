//! `turncoat explore`: a run in the browser, to look at and to play with.

use std::env;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::exit::Exit;
use crate::explore::{Session, Waiting, Workspace, serve};
use crate::rows::Rows;
use crate::setup::{Setup, Start};
use crate::{files, out};

const NOTES: &str = "\
Opens a page in which one steps through a run, plays the adversary by hand, and sees what everybody knows. A file or a known
bug is shown as it went; a protocol waits for the first choice. Without any, the page lists what there is.

The server listens on this machine alone, and its address holds a secret: whoever has it may look and play. Ctrl-C ends it.
What was played is gone then, unless it was exported.

Example: turncoat explore pbft-java/figure-2
         turncoat explore pbft -n 7 --requests 3
         turncoat explore turncoat-corpus/pbft-agreement-7b1c03aa.toml";

/// See a run in the browser, and play the adversary
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A file, a name from `turncoat list bugs`, or one from `turncoat list protocols`
    #[arg(value_name = "FILE|BUG|PROTO")]
    what: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// The port; 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,

    /// Print the address, and leave the browser alone
    #[arg(long)]
    no_open: bool,

    /// Let people look, and nobody play
    #[arg(long)]
    read_only: bool,
}

pub(crate) fn explore(args: &Args) -> Result<Exit> {
    let first = args.what.as_deref().map(|what| args.session(what)).transpose()?;
    // It is there as long as the server is.
    let mut door = None;
    serve(Workspace::new(first, args.read_only), args.port, |address| {
        out::line(address)?;
        if !args.no_open {
            door = Door::to(address).ok();
            let opened = door.as_ref().is_some_and(|door| open::that_detached(&door.0).is_ok());
            if !opened {
                out::log("no browser could be opened: open the address yourself");
            }
        }
        Ok(())
    })?;
    drop(door);
    Ok(Exit::Clean)
}

/// A file that leads a browser to an address and that only its owner may read: everybody on the machine sees with which
/// arguments a browser was started, and the address holds a secret.
struct Door(PathBuf);

impl Door {
    fn to(address: &str) -> io::Result<Self> {
        let number = RandomState::new().hash_one(address);
        let path = env::temp_dir().join(format!("turncoat-{number:016x}.html"));
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&path)?;
        let door = Self(path);
        write!(
            file,
            "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
             <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n<title>turncoat</title>\n\
             <a href=\"{address}\">to the explorer</a>\n"
        )?;
        Ok(door)
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl Args {
    fn session(&self, what: &str) -> Result<Session> {
        let options = !self.setup.origins().is_empty();
        let path = Path::new(what);
        let named = || what.to_owned();
        if what.ends_with(".toml") || path.is_file() {
            if options {
                bail!("{what} says itself what runs: leave out the other options");
            }
            return Session::of(named(), &files::read(path)?, &Waiting::default());
        }
        if what.contains('/') {
            if options {
                bail!("the bug {what} says itself what runs: leave out the other options");
            }
            return Session::bug(Rows::embedded().bug(what)?, &Waiting::default());
        }
        Session::fresh(named(), &self.setup.prepare(Start::protocol(what)?, Some("none"))?.base)
    }
}
