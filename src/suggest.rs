//! Suggestions for misspelled names, for hints in diagnostics.

/// The candidate nearest to `wrong`, the first of several; `None` if no candidate is near enough for a typing error.
/// Counts insertions, deletions, substitutions and swaps of adjacent letters. A third of the letters of `wrong` may
/// differ, in a short word two, but never all of
/// them.
pub fn nearest<'c>(wrong: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wrong: Vec<char> = wrong.chars().collect();
    let limit = (wrong.len() / 3).max(2);
    candidates
        .into_iter()
        .filter_map(|candidate| {
            let letters: Vec<char> = candidate.chars().collect();
            // The difference in length is a lower bound; it avoids the work for long texts.
            if letters.len().abs_diff(wrong.len()) > limit {
                return None;
            }
            let distance = distance(&wrong, &letters);
            (distance <= limit && distance < wrong.len().max(letters.len())).then_some((distance, candidate))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edit distance in which a swap of adjacent letters is one edit, computed row by row.
fn distance(left: &[char], right: &[char]) -> usize {
    let mut before = vec![0; right.len() + 1];
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1; right.len() + 1];
        for (j, b) in right.iter().enumerate() {
            let replaced = last[j] + usize::from(a != b);
            row[j + 1] = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                row[j + 1] = row[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["equals", "not-equals", "includes", "one-of", "any-of"];

    #[test]
    fn a_typing_error_finds_its_name() {
        for (wrong, name) in [
            ("equal", "equals"),
            ("euqals", "equals"),
            ("include", "includes"),
            ("notequals", "not-equals"),
            ("oneof", "one-of"),
            ("anyOf", "any-of"),
        ] {
            assert_eq!(nearest(wrong, NAMES), Some(name), "{wrong}");
        }
    }

    #[test]
    fn an_unrelated_word_has_no_suggestion() {
        assert_eq!(nearest("schema", NAMES), None);
        assert_eq!(nearest("", NAMES), None);
        assert_eq!(nearest("ab", ["cd"]), None);
        assert_eq!(nearest("equals", []), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), NAMES), None);
    }

    #[test]
    fn a_swap_is_one_edit() {
        let letters = |text: &str| text.chars().collect::<Vec<_>>();
        for (left, right, edits) in [("ab", "ba", 1), ("", "abc", 3), ("kitten", "sitting", 3), ("abcd", "acbd", 1)] {
            assert_eq!(distance(&letters(left), &letters(right)), edits, "{left} {right}");
        }
    }
}
