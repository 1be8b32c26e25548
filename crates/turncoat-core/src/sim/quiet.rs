//! Keeps the panics of nodes under test from being printed: they are findings, not accidents.

use std::cell::{Cell, RefCell};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}
static HOOK: Once = Once::new();

/// From now on panics of this thread are kept, or printed again.
pub(super) fn panics(on: bool) {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                PLACE.with_borrow_mut(|kept| *kept = place);
            } else {
                before(info);
            }
        }));
    });
    QUIET.set(on);
}

/// Where the last kept panic came from.
pub(super) fn place() -> String {
    PLACE.with_borrow(Clone::clone)
}
