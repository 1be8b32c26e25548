//! The formats of a report.

mod csv;
mod grid;
mod grids;
mod html;
mod markdown;
pub(super) mod number;

pub use self::csv::csv;
pub use self::grids::Metric;
pub use self::html::html;
pub use self::markdown::{compared_latex, compared_markdown, latex, markdown};
