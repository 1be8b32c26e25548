//! What the stories of hBFT look at. p1 leads view 1, p2 view 2, p3 view 3, p0 view 4.

use serde_json::Value;
use turncoat_core::story::Story;
use turncoat_protocols::hbft::Hbft;

use crate::stage::scenario_of;

/// hBFT with four replicas and K = 2; `settings` are more keys of the scenario, as TOML.
pub(crate) fn story(settings: &str) -> Story<Hbft> {
    Story::new(scenario_of(toml::toml! { name = "hbft" checkpoint = 2 }, settings))
}

/// A story of hBFT with some of its deviations.
pub(crate) fn attack(flags: &[&str], settings: &str) -> Story<Hbft> {
    story(&format!("protocol.flags = {flags:?}\n{settings}"))
}

fn op(request: &Value) -> &str {
    request["body"]["op"].as_str().unwrap_or("null")
}

/// What a replica has accepted above its stable checkpoint, and in which view: `r1@1 v1`.
pub(crate) fn spec(s: &Story<Hbft>, who: &str) -> Vec<String> {
    let state = s.json(who);
    let entries = state["spec"].as_object().expect("a map").values();
    entries.map(|own| format!("{}@{} v{}", op(&own["request"]), own["seq"], own["view"])).collect()
}

/// The last stable checkpoint of a replica: its number, and its history.
pub(crate) fn stable(s: &Story<Hbft>, who: &str) -> (u64, Vec<String>) {
    let state = s.json(who);
    let body = &state["stable"]["body"];
    let history = body["history"].as_array().cloned().unwrap_or_default();
    let history = history.iter().map(|placed| format!("{}@{}", op(&placed["request"]), placed["seq"]));
    (body["seq"].as_u64().unwrap_or(0), history.collect())
}

/// Where a replica is: its view, and the one that it wants, if it wants another.
pub(crate) fn view(s: &Story<Hbft>, who: &str) -> (u64, Option<u64>) {
    let state = s.json(who);
    let vote = state["vote"].as_u64().filter(|_| state["changing"] == true);
    (state["view"].as_u64().expect("a view"), vote)
}

/// Asserts where several replicas are.
pub(crate) fn expect_view(s: &Story<Hbft>, who: &[&str], expected: u64) {
    for who in who {
        assert_eq!(view(s, who), (expected, None), "the view of {who}");
    }
}

/// How many messages of a kind a replica has sent that have arrived.
pub(crate) fn arrived(s: &Story<Hbft>, from: &str, kind: &str) -> usize {
    let words = format!("deliver {from}>");
    let is_one = |event: &String| {
        let mut rest = event.split(&words).nth(1).unwrap_or_default().split_whitespace();
        rest.nth(1) == Some(kind)
    };
    s.sim().events().iter().map(ToString::to_string).filter(is_one).count()
}

/// Whether all requests are complete.
pub(crate) fn idle(s: &Story<Hbft>, client: &str) -> bool {
    s.json(client)["outstanding"].as_array().is_some_and(Vec::is_empty)
}
