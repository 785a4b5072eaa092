//! Planted faults: one deliberate mistake in an otherwise correct program.
//!
//! A fault has a name, lists the requirements that it breaks, and is planted at the one line whose sentence it
//! breaks, as `if fault.is("name")`. So the names double as an index from requirement to code: look the
//! requirement up in the table of the protocol, then search the source for the name.

use crate::names::nearest;

/// A mistake that can be planted, and the requirements that must detect it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// Its name.
    pub name: &'static str,
    /// Its description, in one sentence.
    pub summary: &'static str,
    /// The requirements whose checks must fail.
    pub breaks: &'static [&'static str],
    /// The lowest level that an implementation must have for the fault to show.
    pub level: &'static str,
    /// The configuration under which the fault is observable.
    pub needs: Needs,
}

/// Requirements that a fault breaks besides those that it is planted for: where one mistake cannot break less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Also {
    /// Names of the faults.
    pub faults: &'static [&'static str],
    /// The requirements.
    pub breaks: &'static [&'static str],
    /// Why each of the faults breaks each of them.
    pub why: &'static str,
}

/// The configuration that a fault needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// The setup of this name, one of [`crate::Implementation::setups`]: in another one the fault does not show.
    Setup(&'static str),
    /// A server of this level; planting the fault lowers the level.
    Level(&'static str),
    /// A server with this value of a setting; planting the fault gives it.
    Setting(&'static str, &'static str),
}

/// The fault that is planted in this run, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planted(Option<&'static Fault>);

impl Planted {
    /// A program without a planted fault.
    pub(crate) const NONE: Self = Self(None);

    /// Looks `name` up in the tables of a protocol.
    ///
    /// # Errors
    ///
    /// [`UnknownFault`] with the nearest name.
    pub(crate) fn find(name: &str, tables: &[&'static [Fault]]) -> Result<Self, UnknownFault> {
        let faults = || tables.iter().flat_map(|table| table.iter());
        let found = faults().find(|fault| fault.name == name);
        let unknown =
            || UnknownFault { name: name.to_owned(), nearest: nearest(name, faults().map(|fault| fault.name)) };
        found.map(|fault| Self(Some(fault))).ok_or_else(unknown)
    }

    /// Whether the fault `name` is planted.
    #[must_use]
    pub(crate) fn is(self, name: &'static str) -> bool {
        self.0.is_some_and(|fault| fault.name == name)
    }

    /// The configuration that the planted fault needs.
    #[must_use]
    pub(crate) fn needs(self) -> Needs {
        self.0.map_or(Needs::Nothing, |fault| fault.needs)
    }
}

/// Runs the code of a fault, if it is planted: `planted!(rules.fault, "name", what)`, or
/// `planted!(rules.fault, "name", condition => what)`, or `planted!(rules.fault, "name", found in option => what)`. It takes one line, so that the path around it reads as the protocol;
/// longer code is in the module `faults` of the protocol.
macro_rules! planted {
    ($fault:expr, $name:literal, $found:ident in $option:expr => $what:expr) => {
        if $fault.is($name)
            && let Some($found) = $option
        {
            $what;
        }
    };
    ($fault:expr, $name:literal, $what:expr) => {
        if $fault.is($name) {
            $what;
        }
    };
    ($fault:expr, $name:literal, $condition:expr => $what:expr) => {
        if $fault.is($name) && $condition {
            $what;
        }
    };
}
pub(crate) use planted;

/// No fault has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault named {name:?}{}", nearest.map_or_else(String::new, |known| format!("; the nearest is {known:?}")))]
pub struct UnknownFault {
    /// The requested name.
    pub name: String,
    /// The known name that is most like it.
    pub nearest: Option<&'static str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[Fault] = &[
        Fault { name: "hash-missing", summary: "", breaks: &[], level: "L1", needs: Needs::Nothing },
        Fault { name: "tags-sorted", summary: "", breaks: &[], level: "L1", needs: Needs::Nothing },
    ];

    #[test]
    fn a_misspelt_name_brings_the_nearest_one() {
        let error = Planted::find("tag-sorted", &[TABLE]).expect_err("an unknown fault");
        assert_eq!(error.nearest, Some("tags-sorted"));
        assert!(Planted::find("hash-missing", &[TABLE]).is_ok_and(|fault| fault.is("hash-missing")));
    }
}
