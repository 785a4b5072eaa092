//! How nodes are reached and reach others (binding.md, 2 to 6): HTTP.

pub(super) mod client;
mod control;
mod http;
