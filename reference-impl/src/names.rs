//! The nearest of several names, for messages about a misspelt one.

/// The known name that needs the fewest changes to become `name`.
#[must_use]
pub(crate) fn nearest(name: &str, known: impl IntoIterator<Item = &'static str>) -> Option<&'static str> {
    known.into_iter().min_by_key(|known| distance(name, known))
}

/// The number of single-byte edits that lead from one name to the other.
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

    #[test]
    fn the_nearest_name_needs_the_fewest_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(nearest("tag-sorted", ["hash-missing", "tags-sorted"]), Some("tags-sorted"));
        assert_eq!(nearest("tag-sorted", []), None);
    }
}
