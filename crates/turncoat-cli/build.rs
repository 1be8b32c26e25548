//! Makes a new row of the suite, or a new experiment, part of the command at the next build: the macro that embeds them sees files, not folders.

fn main() {
    println!("cargo::rerun-if-changed=suite");
    println!("cargo::rerun-if-changed=experiments");
}
