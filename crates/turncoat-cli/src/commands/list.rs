//! `turncoat list`: what there is.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use turncoat_core::assume::Assumption;
use turncoat_core::flags::Flag;
use turncoat_core::outcome::Property;
use turncoat_core::part::Scope;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::SchedulerName;
use turncoat_lab::suite::Bug;
use turncoat_strategies::{Info, Param};

use crate::commands::experiment;
use crate::exit::Exit;
use crate::rows::Rows;
use crate::{again, out, registry};

/// Show what there is: protocols, strategies, schedulers, checkers, known bugs
#[derive(clap::Args)]
#[command(after_help = "Example: turncoat list mutations pbft")]
pub(crate) struct Args {
    /// What to list [default: protocols, strategies, schedulers, checkers]
    what: Option<What>,

    /// The protocol whose mutations, flags or assumptions to list
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// What can be tested
    Protocols,
    /// Who draws the scenarios, with parameters and defaults
    Strategies,
    /// Who decides which event is next
    Schedulers,
    /// Which properties are judged
    Checkers,
    /// How the messages of PROTO can be changed
    Mutations,
    /// The deviations of PROTO that can be switched on
    Flags,
    /// What PROTO assumes: outside of it, nothing is a bug
    Assumptions,
    /// The suite of known bugs, each with the property that it violates
    Bugs,
    /// Tables of papers that can be run again
    Experiments,
}

/// A named thing in a list, with what it is and further lines below it.
struct Item {
    name: String,
    about: String,
    below: Vec<(String, String)>,
    json: Value,
}

pub(crate) fn list(args: &Args) -> Result<Exit> {
    let overview = [What::Protocols, What::Strategies, What::Schedulers, What::Checkers];
    let whats = args.what.as_ref().map_or(&overview[..], std::slice::from_ref);
    let mut object = Map::new();
    for (i, &what) in whats.iter().enumerate() {
        let (title, items) = items(what, args.protocol.as_deref())?;
        if args.json {
            object.insert(title.to_owned(), items.into_iter().map(|item| item.json).collect());
            continue;
        }
        if whats.len() > 1 {
            let gap = if i > 0 { "\n" } else { "" };
            out::line(format_args!("{gap}{title}"))?;
        }
        if items.is_empty() {
            out::log(format_args!("no {title}"));
        }
        let indent = if whats.len() > 1 { "  " } else { "" };
        print(&items, indent)?;
    }
    if args.json {
        out::json("list", object)?;
    }
    Ok(Exit::Clean)
}

fn items(what: What, protocol: Option<&str>) -> Result<(&'static str, Vec<Item>)> {
    if let (Some(protocol), false) =
        (protocol, matches!(what, What::Mutations | What::Flags | What::Assumptions))
    {
        bail!("`{protocol}` is one too many: only mutations, flags and assumptions are those of a protocol");
    }
    let entry = |title: &str| {
        let of = protocol
            .with_context(|| format!("of which protocol? Say `{} list {title} PROTO`", again::program()))?;
        registry::protocol(of)
    };
    Ok(match what {
        What::Protocols => ("protocols", registry::protocols().iter().map(Item::protocol).collect()),
        What::Strategies => ("strategies", registry::strategies().iter().map(Item::strategy).collect()),
        What::Experiments => {
            let all = experiment::all()?;
            ("experiments", all.iter().map(|(name, title)| Item::plain(name, title)).collect())
        }
        What::Schedulers => {
            let item = |(name, scheduler): (String, SchedulerName)| Item::plain(&name, scheduler.about());
            ("schedulers", registry::schedulers().map(item).collect())
        }
        What::Checkers => {
            let item = |property: Property| Item::plain(property.name(), property.about());
            ("checkers", Property::ALL.into_iter().map(item).collect())
        }
        What::Mutations if protocol.is_none() => {
            // Variants of one protocol share their messages: each table once.
            let mut entries = registry::protocols();
            entries.dedup_by_key(|entry| entry.kinds);
            let of = |entry: &Entry| {
                let name = entry.name;
                let rows = (entry.mutations)();
                rows.iter()
                    .map(|(row, scope)| Item::mutation((format!("{name} {row}"), scope)))
                    .collect::<Vec<_>>()
            };
            ("mutations", entries.iter().flat_map(of).collect())
        }
        What::Mutations => {
            let table = (entry("mutations")?.mutations)();
            ("mutations", table.iter().map(Item::mutation).collect())
        }
        What::Flags => {
            let flags = entry("flags")?.flags;
            ("flags", flags.iter().map(|flag| Item::plain(&flag.name(), flag.about)).collect())
        }
        What::Assumptions => {
            let entry = entry("assumptions")?;
            let base = entry.scenario();
            let bound = (entry.bound)(&entry.preset, 1).unwrap_or_default();
            let budget = format!("At most f replicas are faulty; it takes {bound} replicas to tolerate one.");
            let budget = Item::plain(Assumption::Budget.name(), &budget);
            let others = entry.assumptions(&base).sentences();
            let others = others.iter().map(|(assumption, text)| Item::plain(assumption.name(), text));
            ("assumptions", [budget].into_iter().chain(others).collect())
        }
        What::Bugs => ("bugs", Rows::embedded().bugs(&[])?.iter().map(Item::bug).collect()),
    })
}

impl Item {
    fn plain(name: &str, about: &str) -> Self {
        let json = json!({ "name": name, "about": about });
        Self { name: name.to_owned(), about: about.to_owned(), below: Vec::new(), json }
    }

    fn protocol(entry: &Entry) -> Self {
        let flags: Vec<String> = entry.flags.iter().map(Flag::name).collect();
        let json = json!({
            "name": entry.name,
            "about": entry.about,
            "kinds": entry.kinds,
            "flags": flags,
            "marks": entry.marks,
            "config": entry.config,
        });
        Self { json, ..Self::plain(entry.name, entry.about) }
    }

    fn strategy(info: &Info) -> Self {
        let param = |param: &Param| (format!("{}={}", param.name, param.default), param.about.to_owned());
        let json =
            |param: &Param| json!({ "name": param.name, "default": param.default, "about": param.about });
        let params: Value = info.params.iter().map(json).collect();
        Self {
            below: info.params.iter().map(param).collect(),
            json: json!({ "name": info.name, "about": info.about, "params": params }),
            ..Self::plain(info.name, info.about)
        }
    }

    fn bug(bug: &Bug) -> Self {
        let about = format!("{:16}  {}", bug.facts.property.name(), bug.facts.title);
        let mut json = json!(bug);
        json["protocol"] = json!(bug.witness.protocol);
        Self { json, ..Self::plain(&bug.id, &about) }
    }

    fn mutation((name, scope): (String, Scope)) -> Self {
        let scope = if scope == Scope::Small { "small" } else { "any" };
        Self { json: json!({ "name": name, "scope": scope }), ..Self::plain(&name, scope) }
    }
}

/// Names and what they are, in two columns.
fn print(items: &[Item], indent: &str) -> Result<()> {
    let below = items.iter().flat_map(|item| &item.below).map(|(name, _)| name.len() + 2);
    let width = items.iter().map(|item| item.name.len()).chain(below).max().unwrap_or(0);
    for item in items {
        out::line(format_args!("{indent}{:width$}  {}", item.name, item.about))?;
        for (name, about) in &item.below {
            out::line(format_args!("{indent}  {name:0$}  {about}", width - 2))?;
        }
    }
    Ok(())
}
