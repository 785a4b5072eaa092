//! The reference pages of the manual, generated from the tables that the program itself uses, so that they cannot go stale.
//!
//! Each page is Markdown. Start with [`pages`]; [`methods`] is the page for authors of adapters, [`unlocks`] says what each
//! method of an adapter is needed for.

pub mod errata;
pub mod keys;
pub mod methods;
pub mod operations;
mod page;
pub mod unlocks;
mod words;

use crate::plan::Knowledge;

pub use page::{Page, cell};

/// Every page that the tables of the library give: adapters, keys of data files, matchers, functions, operations and errata.
pub fn pages(known: &[Knowledge]) -> Vec<Page> {
    let mut pages = vec![methods::conventions_page(known)];
    pages.extend(known.iter().filter_map(methods::page));
    pages.extend(keys::pages());
    pages.push(words::matchers(known));
    pages.push(words::functions(known));
    pages.extend(known.iter().map(operations::page));
    pages.extend(known.iter().map(errata::page));
    pages
}
