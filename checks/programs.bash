# What the checks run. To be sourced, from the root of the repository.
#
# PROFILE is `release`, or `dev`: as `cargo test` has built it, which takes no time and is half as fast.

case ${PROFILE:-release} in
# With all engines: some tables are about them.
release) cargo build --quiet --release -p turncoat-cli --features hbbft,malachite && programs=release ;;
# As a test, whose dependencies have other features: to build it in another way would take long.
dev) cargo test --quiet --workspace --no-run && programs=debug ;;
*) echo "PROFILE is $PROFILE; it may be release or dev" >&2 && exit 2 ;;
esac
programs=$(realpath "${CARGO_TARGET_DIR:-target}/$programs")
turncoat=$programs/turncoat
