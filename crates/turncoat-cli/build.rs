//! A new row of the suite, or a new experiment, is part of the command at the next build: the macro that embeds them sees files, no folders.

fn main() {
    println!("cargo::rerun-if-changed=../../suite");
    println!("cargo::rerun-if-changed=../../experiments");
}
