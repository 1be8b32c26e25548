//! The statistics, against other people's libraries and against what must hold for any data.

mod laws;
mod references;
