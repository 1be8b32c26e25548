//! The mutation tables of all protocols, as files that people can read. `TURNCOAT_BLESS=1` writes them anew.

use turncoat_core::message::{Message, MutationTable};
use turncoat_core::part::Scope;
use turncoat_protocols::{fab, hbft, hotstuff, pbft, tendermint, xrpl, zyzzyva};

fn is_golden<M: Message>(name: &str) {
    let path = format!("{}/tests/golden/{name}-mutations.txt", env!("CARGO_MANIFEST_DIR"));
    // Crafted lies stand behind those of their kind, and move none of them: see `crafted.rs`.
    let table: Vec<String> = MutationTable::of::<M>()
        .iter()
        .filter(|(_, scope)| *scope != Scope::Crafted)
        .map(|(name, scope)| format!("{name} {scope:?}\n").to_lowercase())
        .collect();
    #[expect(clippy::disallowed_methods, reason = "a switch for people, not for runs")]
    if std::env::var("TURNCOAT_BLESS").is_ok() {
        std::fs::write(&path, table.concat()).unwrap();
    }
    assert_eq!(table.concat(), std::fs::read_to_string(&path).unwrap(), "{path}");
}

#[test]
fn the_tables_of_mutations_are_the_golden_ones() {
    is_golden::<pbft::Msg>("pbft");
    is_golden::<hbft::Msg>("hbft");
    is_golden::<fab::Msg>("fab");
    is_golden::<hotstuff::basic::Msg>("hotstuff");
    is_golden::<hotstuff::chained::Msg>("hotstuff-chained");
    is_golden::<hotstuff::fast::Msg>("fast-hotstuff");
    is_golden::<hotstuff::sync::Msg>("sync-hotstuff");
    is_golden::<tendermint::Msg>("tendermint");
    is_golden::<xrpl::Msg>("xrpl");
    is_golden::<zyzzyva::Msg>("zyzzyva");
}
