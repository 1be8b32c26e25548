//! `turncoat lasso`: proves that a run never terminates.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Serialize;
use turncoat_core::outcome::Property;
use turncoat_core::scenario::{Expect, Lasso, LassoClass, Scenario, Seed};
use turncoat_lab::lasso::{Proof, Verdict, find};

use crate::exit::Exit;
use crate::named::{Named, Subject};
use crate::numbers::counted;
use crate::{again, files, out, registry};

const NOTES: &str = "\
Records the whole state (nodes, timers, messages in flight) whenever the slowest correct replica enters a view. If, after \
the network stabilises, the same state recurs (up to renaming of blocks and views) and nothing was decided in between, the \
run can never decide. All messages must take the same time (network.latency = 10), so that nothing is left to chance.

With --save the scenario is saved together with the part that repeats (expect.lasso); `turncoat replay` checks that proof \
independently. Exits with 1 if the run never terminates, and with 0 if it does or if that is unknown.

Example: turncoat lasso hotstuff-two-phase/livelock --save livelock.toml
         turncoat replay livelock.toml";

/// Prove that a run never terminates
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    #[command(flatten)]
    subject: Subject,

    /// Save the scenario with its proof
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    verdict: &'static str,
    why: Option<String>,
    /// All reasons, if nobody knows.
    reasons: Vec<&'static str>,
    /// The fields that keep the state from coming back.
    grows: Vec<String>,
    /// The first and the last event of what repeats.
    events: Option<[u64; 2]>,
    proof: Option<Proof>,
}

pub(crate) fn lasso(args: &Args) -> Result<Exit> {
    let Named { scenario, file, .. } = args.subject.read()?;
    let in_file = || file.clone();
    let entry = registry::protocol(&scenario.protocol.name).with_context(in_file)?;
    let verdict = find(entry, &scenario).with_context(in_file)?;
    if args.json {
        out::json("lasso", Found::of(&verdict))?;
    } else {
        out::line(words(&verdict))?;
    }
    match (&args.save, &verdict) {
        (Some(path), Verdict::Lasso(lasso, proof)) => {
            let outcome = entry.runner().execute(&scenario).with_context(in_file)?;
            let violated = outcome.violation(Property::Termination);
            let property = violated.map(|violation| violation.property.name().to_owned());
            let expect = Expect { property, fingerprint: Seed(outcome.fingerprint), lasso: Some(*lasso) };
            let saved = Scenario { expect: Some(expect), bug: None, ..scenario };
            let mut text: String = told(lasso, proof).lines().map(|line| format!("# {line}\n")).collect();
            text += &saved.to_toml();
            files::write_whole(path, &text).with_context(|| format!("cannot write {}", path.display()))?;
            out::log(format_args!("saved; to check it: {} replay {}", again::program(), path.display()));
        }
        (Some(path), _) => out::log(format_args!("there is no proof, so {} is not written", path.display())),
        (None, _) => {}
    }
    Ok(if verdict.never_terminates() { Exit::Violation } else { Exit::Clean })
}

impl Found {
    fn of(verdict: &Verdict) -> Self {
        let (reasons, grows) = (Vec::new(), Vec::new());
        let bare = |verdict, why| Self { verdict, why, reasons, grows, events: None, proof: None };
        match verdict {
            Verdict::Terminates => bare("terminates", None),
            Verdict::Deadlock => bare("deadlock", None),
            Verdict::Unresolved { why, grows } => {
                let (reasons, grows) = (why.clone(), grows.clone());
                Self { reasons, grows, ..bare("unresolved", Some(why.join("; "))) }
            }
            Verdict::TooWeak(from, to, flaw) => {
                Self { events: Some([from + 1, *to]), ..bare("too-weak", Some(flaw.to_string())) }
            }
            Verdict::Lasso(lasso, proof) => {
                Self { events: Some([lasso.from + 1, lasso.to]), proof: Some(*proof), ..bare("lasso", None) }
            }
        }
    }
}

/// What was found, in plain words.
fn words(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Terminates => "it terminates: every request completes".to_owned(),
        Verdict::Deadlock => "it never terminates: nothing is left to happen".to_owned(),
        Verdict::Unresolved { why, grows } => {
            let mut text =
                "unknown: it did not terminate within the limits, and there is no proof that it never does"
                    .to_owned();
            for reason in why {
                text += &format!("\n  {reason}{}", hint(reason));
            }
            for field in grows {
                text += &format!("\n  it is not the same again: {field}");
            }
            text
        }
        Verdict::TooWeak(from, to, flaw) => {
            format!("events {} to {to} repeat, but prove nothing: {flaw}", from + 1)
        }
        Verdict::Lasso(lasso, proof) => told(lasso, proof),
    }
}

/// What to do about a reason.
fn hint(reason: &str) -> &'static str {
    match reason {
        "messages take a random time" => ": set `network.latency` to one number, such as 10",
        "a persona exchanges or reorders requests" => {
            ": look for a witness without one, with `fuzz --strategy byzzfuzz --set network.latency=10`"
        }
        "a node does not show its state" => ": implement `Node::state`, or write `open_state!()` in it",
        "no state comes back within the limits" => {
            ": leave out what grows and no longer matters in `Node::essence`, or raise `limits.steps`"
        }
        "the script is not over" => ": raise `limits.steps` beyond the script",
        "the adversary keeps state, or lies" => {
            ": only faults that end, or treat all messages of a kind alike forever, can be part of a proof"
        }
        "a fault is in progress" => ": let faults end earlier, or raise `limits.steps`",
        "a clock drifts" => {
            ": leave out `cluster.drift` and jumps of clocks, if the run gets stuck without them"
        }
        "a node draws random numbers" => ": it may be lucky in the end, so there is no such proof",
        "the network is not calm yet" => ": set `network.gst` earlier, or raise `limits.steps`",
        "a table says who leads" => ": raise `limits.steps`, so that the views of `cluster.leaders` end",
        _ => "",
    }
}

/// A proof, in plain words.
pub(super) fn told(lasso: &Lasso, proof: &Proof) -> String {
    let Proof { class, views, ticks, delay, together } = proof;
    let [ticks, delay, together] = [ticks, delay, together].map(|time| counted(*time, "tick"));
    let views = counted((*views).into(), "view");
    let class = match class {
        LassoClass::Benign => "benign: nobody lies any more, and all messages take the same time",
        LassoClass::Adversarial => {
            "adversarial: it needs liars that keep lying, or messages that keep being late"
        }
    };
    format!(
        "it never terminates: events {} to {} repeat forever, and nothing is decided in them\n  \
         each time        {views} and {ticks} later, everything is as before\n  \
         {class}\n  \
         messages         between correct replicas take at most {delay}\n  \
         correct replicas are together under a correct leader for up to {together}",
        lasso.from + 1,
        lasso.to,
    )
}
