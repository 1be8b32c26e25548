//! `turncoat explore`: a run in the browser, to look at and to play with.

use std::env;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::exit::Exit;
use crate::explore::{Session, Waiting, Workspace, serve};
use crate::named::{self, Named};
use crate::setup::{Setup, Start};
use crate::{numbers, out};

const NOTES: &str = "\
Opens a page on which you step through a run, play the adversary and see what each replica knows. Give it a scenario file, a \
known bug or a protocol; without an argument it opens a home page.

The server listens on this machine only, and its address contains a secret: anyone who has the address can look and play. \
Ctrl-C stops it. Runs that you played are lost then, unless you exported them.

Example: turncoat explore pbft-java/figure-2
         turncoat explore pbft -n 7 --requests 3
         turncoat explore turncoat-corpus/pbft-agreement-7b1c03aa.toml";

/// Step through a run in the browser and play the adversary
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// A scenario file, a known bug (`turncoat list bugs`) or a protocol (`turncoat list protocols`)
    #[arg(value_name = "FILE|BUG|PROTO")]
    what: Option<String>,

    #[command(flatten)]
    setup: Setup,

    /// The port; 0 for any free one
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = numbers::within::<u16>(0..=65_535))]
    port: u16,

    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,

    /// Show runs, but let nobody play
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
                out::log("cannot open a browser: open the address yourself");
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
        let is_protocol = !what.contains('/') && !what.ends_with(".toml") && !Path::new(what).is_file();
        if is_protocol {
            let prepared = self.setup.prepare(Start::protocol(what)?, Some("none"))?;
            return Session::fresh(what.to_owned(), &prepared.base);
        }
        if options {
            bail!("{what} is a complete scenario: leave out the other options");
        }
        let Named { scenario, words, bug, .. } = named::read(what)?;
        match bug {
            Some(bug) => Session::bug(bug, &Waiting::default()),
            None => Session::of(words, &scenario, &Waiting::default()),
        }
    }
}
