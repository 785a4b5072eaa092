//! Planted faults: one deliberate mistake in an otherwise correct program.
//!
//! A fault is known by name, says which requirements it breaks, and is planted at the one line whose sentence it
//! breaks, as `if fault.is("name")`. So the names double as an index from requirement to code: look the
//! requirement up in the table of the protocol, then search the source for the name.

/// A mistake that can be planted, and what it must be caught by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// How it is asked for.
    pub name: &'static str,
    /// What it does wrong, in one sentence.
    pub summary: &'static str,
    /// The requirements whose checks must turn red.
    pub breaks: &'static [&'static str],
    /// The lowest level that an implementation must have for the fault to show.
    pub level: &'static str,
    /// What must be configured for the fault to show.
    pub needs: Needs,
}

/// What a fault needs besides its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Credentials: a server without any has nobody to reject.
    Credentials,
    /// A server of a level below the one it declares; arranged by the fault itself.
    LowerLevel,
    /// A server without search; arranged by the fault itself.
    NoSearch,
    /// Nothing.
    Nothing,
}

/// The fault that is planted in this run, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Planted(Option<&'static Fault>);

impl Planted {
    /// A program without a planted fault.
    pub(crate) const NONE: Self = Self(None);

    /// Looks `name` up in the table of a protocol.
    ///
    /// # Errors
    ///
    /// [`UnknownFault`] with the nearest name.
    pub(crate) fn find(name: &str, table: &'static [Fault]) -> Result<Self, UnknownFault> {
        let found = table.iter().find(|fault| fault.name == name);
        let unknown = || UnknownFault {
            name: name.to_owned(),
            nearest: table.iter().map(|fault| fault.name).min_by_key(|known| distance(name, known)),
        };
        found.map(|fault| Self(Some(fault))).ok_or_else(unknown)
    }

    /// Whether the fault called `name` is the one that is planted.
    #[must_use]
    pub(crate) fn is(self, name: &'static str) -> bool {
        self.0.is_some_and(|fault| fault.name == name)
    }

    /// What the planted fault needs.
    #[must_use]
    pub(crate) fn needs(self) -> Needs {
        self.0.map_or(Needs::Nothing, |fault| fault.needs)
    }
}

/// No fault has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no fault named {name:?}{}", nearest.map_or_else(String::new, |known| format!("; the nearest is {known:?}")))]
pub struct UnknownFault {
    /// The name that was asked for.
    pub name: String,
    /// The known name that is most like it.
    pub nearest: Option<&'static str>,
}

/// How many single-byte edits lead from one name to the other.
fn distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, left) in from.bytes().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (index, right) in to.bytes().enumerate() {
            let replace = diagonal + usize::from(left != right);
            diagonal = row[index + 1];
            row[index + 1] = replace.min(diagonal + 1).min(row[index] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
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
        let error = Planted::find("tag-sorted", TABLE).expect_err("no such fault");
        assert_eq!(error.nearest, Some("tags-sorted"));
        assert!(Planted::find("hash-missing", TABLE).is_ok_and(|fault| fault.is("hash-missing")));
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
