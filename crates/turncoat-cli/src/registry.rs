//! Names: the one place that knows all protocols, strategies and schedulers.

use std::sync::{LazyLock, OnceLock};

use anyhow::{Error, Result, anyhow, ensure};
use turncoat_core::flags::Flag;
use turncoat_core::outcome::Property;
use turncoat_core::runner::Entry;
use turncoat_core::scenario::SchedulerName;
use turncoat_lab::campaign::BoxError;
use turncoat_strategies::Info;

use crate::again;

/// The protocols of the crate whose command this is; none in `turncoat` itself.
static OWN: OnceLock<Vec<Entry>> = OnceLock::new();

/// The protocols that come with the command, and the engines that it was built with.
static BUILT_IN: LazyLock<Vec<Entry>> =
    LazyLock::new(|| [turncoat_protocols::all(), turncoat_targets::all()].concat());

/// Adds protocols to the built-in ones, once and before anybody asks for one.
pub(crate) fn register(own: Vec<Entry>) -> Result<()> {
    let names: Vec<&str> = own.iter().chain(&*BUILT_IN).map(|entry| entry.name).collect();
    for (i, name) in names.iter().enumerate() {
        ensure!(
            !names[..i].contains(name),
            "two protocols are called `{name}`: give one of them another name"
        );
    }
    for entry in &own {
        entry.check_setting()?;
    }
    let _ = OWN.set(own);
    Ok(())
}

/// The protocols of the crate whose command this is.
pub(crate) fn own() -> &'static [Entry] {
    OWN.get().map_or(&[], Vec::as_slice)
}

/// All protocols, one's own first.
pub(crate) fn protocols() -> impl Iterator<Item = &'static Entry> {
    own().iter().chain(&*BUILT_IN)
}

/// All strategies.
pub(crate) fn strategies() -> &'static [Info] {
    turncoat_strategies::all()
}

/// All schedulers that need no script, each with its name.
pub(crate) fn schedulers() -> impl Iterator<Item = (String, SchedulerName)> {
    SchedulerName::ALL.into_iter().map(|scheduler| (name_of(scheduler), scheduler))
}

/// The name of a scheduler, as files have it.
pub(crate) fn name_of(scheduler: SchedulerName) -> String {
    let name = serde_json::to_value(scheduler).ok();
    name.as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned()
}

/// The longest name that is shown as it is.
const LONGEST: usize = 100;

/// The protocol with this name.
pub(crate) fn protocol(name: &str) -> Result<&'static Entry> {
    let known: Vec<&str> = protocols().map(|entry| entry.name).collect();
    let absent = || match left_out(name, &known) {
        Some(engine) => anyhow!("`{name}` is not in this program: build it with `--features {engine}`"),
        None => unlisted("protocol", name, &known, "list protocols"),
    };
    protocols().find(|entry| entry.name == name).ok_or_else(absent)
}

/// The same for the lab, which keeps what it finds.
pub(crate) fn find(name: &str) -> Result<Entry, BoxError> {
    Ok(protocol(name)?.clone())
}

/// The engine that is meant, if the program was built without it.
fn left_out(name: &str, known: &[&str]) -> Option<&'static str> {
    let is_of = |name: &str, engine: &str| name.split('-').next() == Some(engine);
    let engine = turncoat_targets::FEATURES.into_iter().find(|engine| is_of(name, engine))?;
    (!known.iter().any(|known| is_of(known, engine))).then_some(engine)
}

/// Whether a protocol has a flag.
pub(crate) fn flag(entry: &Entry, name: &str) -> Result<()> {
    let all: Vec<String> = entry.flags.iter().map(Flag::name).collect();
    let known: Vec<&str> = all.iter().map(String::as_str).collect();
    match known.contains(&name) {
        true => Ok(()),
        false => {
            let (what, command) = (format!("flag of {}", entry.name), format!("list flags {}", entry.name));
            Err(unlisted(&what, name, &known, &command))
        }
    }
}

/// The strategy with this name.
pub(crate) fn strategy(name: &str) -> Result<&'static Info> {
    let known: Vec<&str> = strategies().iter().map(|info| info.name).collect();
    strategies()
        .iter()
        .find(|info| info.name == name)
        .ok_or_else(|| unlisted("strategy", name, &known, "list strategies"))
}

/// The strategies that have a parameter.
pub(crate) fn strategies_with(param: &str) -> Vec<&'static str> {
    let has = |info: &&Info| info.params.iter().any(|known| known.name == param);
    strategies().iter().filter(has).map(|info| info.name).collect()
}

/// The scheduler with this name.
pub(crate) fn scheduler(name: &str) -> Result<SchedulerName> {
    let all: Vec<_> = schedulers().collect();
    let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
    let found = all.iter().find(|(known, _)| known == name).map(|&(_, scheduler)| scheduler);
    found.ok_or_else(|| unknown("scheduler", name, &known))
}

/// The property with this name.
pub(crate) fn property(name: &str) -> Result<Property> {
    let known = Property::ALL.map(Property::name);
    Property::ALL
        .into_iter()
        .find(|property| property.name() == name)
        .ok_or_else(|| unknown("property", name, &known))
}

/// The error for a name that does not exist: suggests the nearest and names the command that lists all (`list protocols`).
pub(crate) fn unlisted(what: &str, name: &str, known: &[&str], command: &str) -> Error {
    let name = shortened(name);
    let all = format!("`{} {command}` shows all", again::program());
    match nearest(&name, known) {
        Some(nearest) => anyhow!("no {what} `{name}`: did you mean `{nearest}`? {all}"),
        None => anyhow!("no {what} `{name}`: {all}"),
    }
}

/// The same where no command lists them: suggests the nearest, or names all of them if none is near.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Error {
    let name = shortened(name);
    match nearest(&name, known) {
        Some(nearest) => anyhow!("no {what} `{name}`: did you mean `{nearest}`?"),
        None if known.is_empty() => anyhow!("no {what} `{name}`: there are none"),
        None => anyhow!("no {what} `{name}`: choose from {}", known.join(", ")),
    }
}

/// A file may say anything, and nobody reads more.
fn shortened(name: &str) -> String {
    name.chars().take(LONGEST).collect()
}

/// The known name that `name` was most likely meant to be, whatever its case.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    let nearest = known.iter().copied().min_by_key(|known| distance(known))?;
    (distance(nearest) <= 1 + nearest.len() / 4).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_was_left_out_is_no_slip_of_the_keyboard() {
        assert_eq!(left_out("malachite-bare", &["pbft", "hbbft"]), Some("malachite"));
        assert_eq!(left_out("malachite-bear", &["pbft", "malachite"]), None);
        assert_eq!(left_out("pfbt", &["pbft"]), None);
    }

    #[test]
    fn a_slip_of_the_keyboard_finds_the_name_that_was_meant() {
        let known = ["none", "random", "byzzfuzz"];
        assert_eq!(nearest("byzfuz", &known), Some("byzzfuzz"));
        assert_eq!(nearest("radnom", &known), Some("random"));
        assert_eq!(nearest("BYZZFUZZ", &known), Some("byzzfuzz"));
        assert_eq!(nearest("twins", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }

    #[test]
    fn a_name_means_one_protocol() {
        let twice = register(vec![find("pbft").unwrap()]).unwrap_err().to_string();
        assert!(twice.contains("two protocols are called `pbft`"), "{twice}");
        assert!(own().is_empty());
    }

    #[test]
    fn every_scheduler_is_found_by_its_name() {
        for (name, scheduler) in schedulers() {
            assert_eq!(super::scheduler(&name).unwrap(), scheduler);
        }
        assert!(scheduler("tmied").unwrap_err().to_string().contains("did you mean `timed`"));
    }
}
