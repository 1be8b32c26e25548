//! The commands, one file each: its options, and the function that carries it out.

pub(crate) mod beside;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod corpus;
pub(crate) mod detect;
pub(crate) mod experiment;
pub(crate) mod explain;
pub(crate) mod explore;
pub(crate) mod fuzz;
pub(crate) mod hunt;
pub(crate) mod lasso;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod new;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shard;
pub(crate) mod shrink;
pub(crate) mod speed;
pub(crate) mod suite;
pub(crate) mod tune;
