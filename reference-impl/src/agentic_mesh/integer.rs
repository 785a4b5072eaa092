//! Whole numbers in any spelling (E21): JSON has no integer type.

use crate::json::Number;

/// The value of a number that is whole, whatever its spelling (E21); `None` for fractions, and beyond 128 bits.
#[must_use]
pub(crate) fn whole(number: &Number) -> Option<i128> {
    let text = number.spelling().to_ascii_lowercase();
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or((1, mantissa), |rest| (-1, rest));
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return Some(0);
    }
    // The value is `significant` times ten to the power of `shift`.
    let exponent: i64 = exponent.parse().ok()?;
    let shift =
        exponent - i64::try_from(fraction.len()).ok()? + i64::try_from(digits.len() - significant.len()).ok()?;
    let power = 10_i128.checked_pow(u32::try_from(shift).ok()?)?;
    significant.parse::<i128>().ok()?.checked_mul(power)?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_whole_by_value() {
        let of = |text: &str| whole(&Number::spelled(text).expect("a number"));
        for (text, value) in [
            ("5", Some(5)),
            ("5.0", Some(5)),
            ("1e1", Some(10)),
            ("50e-1", Some(5)),
            ("-0.0e9", Some(0)),
            ("-2147483648", Some(-2_147_483_648)),
            ("18446744073709551616", Some(18_446_744_073_709_551_616)),
            ("1.5", None),
            ("1e-1", None),
            ("1e400", None),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(of(text), value, "{text}");
        }
    }
}
