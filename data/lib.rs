//! Every file of `suites/` and `vectors/`, embedded, so that the program runs without a checkout.

/// Name and text of each file, in the order of their names; a name starts with `suites/` or `vectors/`.
pub static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
