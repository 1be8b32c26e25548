//! `turncoat list`: protocols, strategies, known bugs and all else that has a name.

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use serde_json::{Map, Value, json};
use turncoat_core::assume::Assumption;
use turncoat_core::flags::Flag;
use turncoat_core::logs::LogCheck;
use turncoat_core::outcome::Property;
use turncoat_core::part::Scope;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::SchedulerName;
use turncoat_lab::suite::Bug;
use turncoat_strategies::{Info, Param};

use crate::commands::experiment;
use crate::exit::Exit;
use crate::rows::Rows;
use crate::{again, numbers, out, registry};

const NOTES: &str = "\
Known bugs can be narrowed down by protocol, property, tier and words; all filters must match.

Example: turncoat list bugs pbft-java --property agreement
         turncoat list bugs --search checkpoint --tier 1
         turncoat list mutations pbft";

/// List protocols, strategies, known bugs and more
#[derive(clap::Args)]
#[command(after_help = NOTES)]
pub(crate) struct Args {
    /// What to list [default: protocols, strategies, schedulers, checkers]
    what: Option<What>,

    /// The protocol whose mutations, flags, assumptions or bugs to list
    #[arg(value_name = "PROTO")]
    protocol: Option<String>,

    #[command(flatten)]
    filter: Filter,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Which bugs to list.
#[derive(clap::Args)]
#[group(skip)]
struct Filter {
    /// Only bugs that violate this property
    #[arg(long, value_name = "PROPERTY", help_heading = "Known bugs", value_parser = property)]
    property: Option<Property>,

    /// Only bugs of this tier: 1, published with the tools that found them; 2, real bugs found elsewhere; 3, seeded
    #[arg(long, value_name = "TIER", help_heading = "Known bugs", value_parser = numbers::within::<u8>(1..=3))]
    tier: Option<u8>,

    /// Only bugs with this text in their id, title or source
    #[arg(long, value_name = "TEXT", help_heading = "Known bugs")]
    search: Option<String>,
}

/// A property by its name.
fn property(name: &str) -> Result<Property, String> {
    registry::property(name).map_err(|error| error.to_string())
}

impl Filter {
    fn is_given(&self) -> bool {
        self.property.is_some() || self.tier.is_some() || self.search.is_some()
    }

    fn matches(&self, Bug { id, facts, .. }: &Bug) -> bool {
        let holds = |text: &String| {
            let words = format!("{id} {} {}", facts.title, facts.source).to_lowercase();
            words.contains(&text.to_lowercase())
        };
        self.property.is_none_or(|property| facts.property == property)
            && self.tier.is_none_or(|tier| facts.tier == tier)
            && self.search.as_ref().is_none_or(holds)
    }

    /// The bugs that match: of a protocol, or with ids that begin so.
    fn bugs(&self, of: Option<&str>) -> Result<Vec<Bug>> {
        let rows = Rows::embedded();
        let mut bugs = rows.bugs(&[])?;
        if let Some(name) = of {
            let below = |bug: &Bug| bug.id.split('/').next() == Some(name);
            let entry = registry::protocol(name);
            if let (Err(error), false) = (&entry, bugs.iter().any(below)) {
                bail!("{error}");
            }
            let own = entry
                .map(|entry| rows.of_protocol(entry, &entry.scenario()))
                .unwrap_or_else(|_| Ok(Vec::new()))?;
            bugs.retain(
                |bug| if own.is_empty() { below(bug) } else { own.iter().any(|own| own.id == bug.id) },
            );
        }
        bugs.retain(|bug| self.matches(bug));
        Ok(bugs)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// Protocols to test
    Protocols,
    /// Strategies that generate scenarios, with parameters and defaults
    Strategies,
    /// Schedulers that choose the next event
    Schedulers,
    /// Properties that are checked
    Checkers,
    /// How the messages of PROTO can be altered
    Mutations,
    /// The bug flags of PROTO
    Flags,
    /// What PROTO assumes; a violation outside its assumptions is no bug
    Assumptions,
    /// Known bugs, each with the property that it violates
    Bugs,
    /// Tables from papers that you can run again
    Experiments,
    /// Mistakes in the built-in protocols, for `--slip`
    #[cfg(feature = "mutants")]
    Slips,
}

/// A named thing in a list, with what it is and further lines below it.
struct Item {
    name: String,
    about: String,
    below: Vec<(String, String)>,
    json: Value,
}

pub(crate) fn list(args: &Args) -> Result<Exit> {
    if args.filter.is_given() && args.what != Some(What::Bugs) {
        bail!("--property, --tier and --search are for bugs: `{} list bugs`", again::program());
    }
    let overview = [What::Protocols, What::Strategies, What::Schedulers, What::Checkers];
    let whats = args.what.as_ref().map_or(&overview[..], std::slice::from_ref);
    let mut object = Map::new();
    for (i, &what) in whats.iter().enumerate() {
        let (title, items) = items(what, args.protocol.as_deref(), &args.filter)?;
        if args.json {
            object.insert(title.to_owned(), items.into_iter().map(|item| item.json).collect());
            continue;
        }
        if whats.len() > 1 {
            let gap = if i > 0 { "\n" } else { "" };
            out::line(format_args!("{gap}{title}"))?;
        }
        if items.is_empty() {
            out::log(match args.filter.is_given() {
                true => format!("no {title} match"),
                false => format!("no {title}"),
            });
        }
        let indent = if whats.len() > 1 { "  " } else { "" };
        print(&items, indent)?;
    }
    if args.json {
        out::json("list", object)?;
    }
    Ok(Exit::Clean)
}

fn items(what: What, protocol: Option<&str>, filter: &Filter) -> Result<(&'static str, Vec<Item>)> {
    if let (Some(protocol), false) =
        (protocol, matches!(what, What::Mutations | What::Flags | What::Assumptions | What::Bugs))
    {
        bail!(
            "`{protocol}` is one too many: only mutations, flags, assumptions and bugs are listed by protocol"
        );
    }
    let entry = |title: &str| {
        let of = protocol.with_context(|| {
            format!("{title} belong to a protocol: name one, as in `{} list {title} pbft`", again::program())
        })?;
        registry::protocol(of)
    };
    Ok(match what {
        What::Protocols => ("protocols", registry::protocols().map(Item::protocol).collect()),
        What::Strategies => ("strategies", registry::strategies().iter().map(Item::strategy).collect()),
        What::Experiments => {
            let all = experiment::all()?;
            ("experiments", all.iter().map(|(name, title)| Item::plain(name, title)).collect())
        }
        #[cfg(feature = "mutants")]
        What::Slips => {
            let all = turncoat_protocols::slips::ALL;
            ("slips", all.iter().map(|slip| Item::plain(slip.name, slip.about)).collect())
        }
        What::Schedulers => {
            let item = |(name, scheduler): (String, SchedulerName)| Item::plain(&name, scheduler.about());
            ("schedulers", registry::schedulers().map(item).collect())
        }
        What::Checkers => {
            let item = |property: Property| Item::plain(property.name(), property.about());
            let asked = |check: LogCheck| {
                Item::plain(check.name(), &format!("{}; where a scenario's `checks` name it", check.about()))
            };
            let checks = LogCheck::ALL.into_iter().map(asked);
            ("checkers", Property::ALL.into_iter().map(item).chain(checks).collect())
        }
        What::Mutations if protocol.is_none() => {
            // Variants of one protocol share their messages: each table once.
            let mut entries: Vec<&Entry> = registry::protocols().collect();
            entries.dedup_by_key(|entry| entry.kinds);
            let of = |entry: &Entry| {
                let name = entry.name;
                lies(entry)
                    .into_iter()
                    .map(|(row, scope)| Item::mutation((format!("{name} {row}"), scope)))
                    .collect::<Vec<_>>()
            };
            ("mutations", entries.into_iter().flat_map(of).collect())
        }
        What::Mutations => ("mutations", lies(entry("mutations")?).into_iter().map(Item::mutation).collect()),
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
            let others = entry.assumptions(&base).sentences(!entry.stream);
            let others = others.iter().map(|(assumption, text)| Item::plain(assumption.name(), text));
            ("assumptions", [budget].into_iter().chain(others).collect())
        }
        What::Bugs => ("bugs", filter.bugs(protocol)?.iter().map(Item::bug).collect()),
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
        let about = format!("{}: {}", bug.facts.property.name(), bug.facts.title);
        let mut json = json!(bug);
        json["protocol"] = json!(bug.witness.protocol);
        Self { json, ..Self::plain(&bug.id, &about) }
    }

    fn mutation((name, scope): (String, Scope)) -> Self {
        let scope = match scope {
            Scope::Small => "small",
            Scope::Any => "any",
            Scope::Crafted => "crafted",
            Scope::Named => "named",
        };
        Self { json: json!({ "name": name, "scope": scope }), ..Self::plain(&name, scope) }
    }
}

/// The lies of a protocol, the crafted ones last.
fn lies(entry: &Entry) -> Vec<(String, Scope)> {
    let mut lies: Vec<_> = (entry.mutations)().iter().collect();
    lies.sort_by_key(|&(_, scope)| scope == Scope::Crafted);
    lies
}

/// Names and what they are, in two columns.
fn print(items: &[Item], indent: &str) -> Result<()> {
    let below = items.iter().flat_map(|item| &item.below).map(|(name, _)| name.len() + 2);
    let width = items.iter().map(|item| item.name.len()).chain(below).max().unwrap_or(0);
    for item in items {
        out::hung(format_args!("{indent}{:width$}  ", item.name), &item.about)?;
        for (name, about) in &item.below {
            out::hung(format_args!("{indent}  {name:0$}  ", width - 2), about)?;
        }
    }
    Ok(())
}
