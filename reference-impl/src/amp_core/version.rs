//! Versions (13.1, 13.3): what their major is, and which of several is selected.

use super::rules::Rules;
use crate::fault::planted;

/// The majors that are supported (13.1).
pub(crate) const VERSIONS: [u64; 1] = [1];

/// The integer before the first dot (13.1). `None` if it is not a version of two or three numbers (E50).
#[must_use]
pub(crate) fn major(version: &str, rules: Rules) -> Option<u64> {
    numbers(version, rules).map(|numbers| numbers[0])
}

/// The two or three numbers of a version; a pre-release or build part behind the third may follow.
fn numbers(version: &str, rules: Rules) -> Option<[u64; 3]> {
    let core = version.split(['-', '+']).next()?;
    let parts: Vec<&str> = core.split('.').collect();
    // E50: two parts will do.
    let enough = if rules.fault.is("version-three-parts-only") { 3 } else { 2 };
    if !(enough..=3).contains(&parts.len()) || (parts.len() < 3 && core.len() != version.len()) {
        return None;
    }
    let mut numbers = [0; 3];
    for (place, part) in numbers.iter_mut().zip(&parts) {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        // SemVer, 2: no leading zeros.
        let plain = *part == "0" || !part.starts_with('0');
        *place = part.parse().ok().filter(|_| digits && plain)?;
    }
    // 13.1: the whole number before the dot, not its first digit.
    planted!(rules.fault, "version-first-digit", numbers[0] = version[..1].parse().ok()?);
    Some(numbers)
}

/// The version to answer a HELLO with (13.3, 13.5): of those offered the highest whose major is among the `supported`
/// ones, as it was offered. `None` if nothing fits.
#[must_use]
pub(crate) fn select(supported: &[String], offered: &[String], rules: Rules) -> Option<String> {
    let fault = rules.fault;
    let majors: Vec<u64> = supported.iter().filter_map(|version| major(version, rules)).collect();
    let fits = |version: &&String| major(version, rules).is_some_and(|major| majors.contains(&major));
    let mut fitting = offered.iter().filter(fits);
    // 13.5: only an offered version can be selected.
    let own = || offered.iter().find(fits).and(supported.first()).map(|version| format!("{version}.7"));
    planted!(fault, "hello-selects-own", return own());
    // 13.5: and only a supported one.
    planted!(fault, "hello-accepts-anything", return offered.first().cloned());
    // E50: an invalid version is ignored.
    let bad = offered.iter().any(|version| major(version, rules).is_none());
    planted!(fault, "hello-one-bad-version-refuses", bad => return None);
    planted!(fault, "hello-first-only", return offered.first().filter(fits).cloned());
    // Other, E51: the first that fits, since senders list what they prefer first.
    if rules.is_other() {
        return fitting.next().cloned();
    }
    // The first of equals: max_by_key would take the last.
    fitting.rev().max_by_key(|version| numbers(version, rules)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(versions: &[&str]) -> Vec<String> {
        versions.iter().map(|version| (*version).to_owned()).collect()
    }

    #[test]
    fn the_major_is_the_number_before_the_first_dot() {
        let major = |version| major(version, Rules::PLAIN);
        assert_eq!((major("1.0"), major("2.13.5"), major("10.0.0-rc.1+x")), (Some(1), Some(2), Some(10)));
        for none in
            ["", "1", "1.", ".1", "v1.0", "1.x", "01.0", "1.0.0.0", "1.0-rc", "-1.0", "1.0 ", "99999999999999999999.0"]
        {
            assert_eq!(major(none), None, "{none:?}");
        }
    }

    #[test]
    fn the_highest_offered_version_of_a_supported_major_is_selected() {
        let select = |offered: &[&str]| select(&list(&["1.0", "2.0"]), &list(offered), Rules::PLAIN);
        assert_eq!(select(&["1.0", "2.0", "3.0"]).as_deref(), Some("2.0"));
        assert_eq!(select(&["1.0", "1.0.0"]).as_deref(), Some("1.0"));
        assert_eq!(select(&["1.9", "1.10", "x"]).as_deref(), Some("1.10"));
        assert_eq!((select(&["99.0"]), select(&[])), (None, None));
    }
}
