//! The mutation table of PBFT, as a file that people can read. `TURNCOAT_BLESS=1` writes it anew.

use turncoat_core::message::MutationTable;
use turncoat_protocols::pbft::Msg;

#[test]
fn the_table_of_mutations_is_the_golden_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/pbft-mutations.txt");
    let table: Vec<String> = MutationTable::of::<Msg>()
        .iter()
        .map(|(name, scope)| format!("{name} {scope:?}\n").to_lowercase())
        .collect();
    #[expect(clippy::disallowed_methods, reason = "a switch for people, not for runs")]
    if std::env::var("TURNCOAT_BLESS").is_ok() {
        std::fs::write(path, table.concat()).unwrap();
    }
    assert_eq!(table.concat(), std::fs::read_to_string(path).unwrap());
}
