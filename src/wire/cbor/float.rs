//! Floating-point numbers of 16, 32 and 64 bits; lossless, NaN payloads included.

/// A half-precision number as a double.
pub(super) fn from_half(bits: u16) -> f64 {
    let sign = u64::from(bits >> 15) << 63;
    let exponent = u64::from(bits >> 10 & 0x1f);
    let fraction = u64::from(bits & 0x3ff);
    let magnitude = match exponent {
        0 => return f64::from_bits(sign | (fraction as f64 * 2.0_f64.powi(-24)).to_bits()),
        31 => 0x7ff << 52 | fraction << 42,
        _ => (exponent + 1023 - 15) << 52 | fraction << 42,
    };
    f64::from_bits(sign | magnitude)
}

/// A single-precision number as a double; a NaN keeps its payload.
pub(super) fn from_single(bits: u32) -> f64 {
    let single = f32::from_bits(bits);
    if single.is_nan() {
        return f64::from_bits(u64::from(bits >> 31) << 63 | 0x7ff << 52 | u64::from(bits & 0x7f_ffff) << 29);
    }
    f64::from(single)
}

/// The number in single precision, if it is exactly representable.
pub(super) fn to_single(float: f64) -> Option<u32> {
    #[expect(clippy::cast_possible_truncation, reason = "the comparison detects values that do not fit")]
    let single = float as f32;
    (f64::from(single) == float).then(|| single.to_bits())
}

/// The number in half precision, if it is exactly representable.
pub(super) fn to_half(float: f64) -> Option<u16> {
    let bits = to_single(float)?;
    let sign = (bits >> 16 & 0x8000) as u16;
    let exponent = i32::try_from(bits >> 23 & 0xff).ok()? - 127;
    let fraction = bits & 0x7f_ffff;
    match exponent {
        -127 if fraction == 0 => Some(sign),
        128 => Some(sign | 0x7c00), // infinity: a NaN never equals itself in `to_single`
        -14..=15 if fraction.trailing_zeros() >= 13 => {
            Some(sign | u16::try_from((exponent + 15) << 10).ok()? | u16::try_from(fraction >> 13).ok()?)
        }
        -24..=-15 => {
            let full = fraction | 0x80_0000;
            let shift = u32::try_from(-1 - exponent).ok()?;
            (full.trailing_zeros() >= shift).then(|| u16::try_from(full >> shift).ok()).flatten().map(|low| sign | low)
        }
        _ => None,
    }
}

/// Bytes of the shortest form that keeps the value: 2, 4 or 8. A NaN takes two bytes.
pub(super) fn shortest(float: f64) -> usize {
    if float.is_nan() || to_half(float).is_some() {
        2
    } else if to_single(float).is_some() {
        4
    } else {
        8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_round_trips() {
        for bits in 0..=u16::MAX {
            let float = from_half(bits);
            if float.is_nan() {
                assert_eq!(to_half(float), None);
            } else {
                assert_eq!(to_half(float), Some(bits), "{bits:04x} {float}");
            }
        }
    }

    #[test]
    fn known_halves() {
        for (bits, float) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0x3e00, 1.5),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_477_539_063e-8),
            (0x0400, 0.000_061_035_156_25),
            (0xc400, -4.0),
            (0x7c00, f64::INFINITY),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(from_half(bits).to_bits(), float.to_bits(), "{bits:04x}");
        }
        assert!(from_half(0x7e00).is_nan());
    }

    #[test]
    fn wider_values_use_wider_forms() {
        assert_eq!((shortest(100_000.0), shortest(65504.0), shortest(65505.0)), (4, 2, 4));
        assert_eq!((shortest(1.1), shortest(3.402_823_466_385_288_6e38), shortest(1.0e300)), (8, 4, 8));
        assert_eq!((shortest(2.0_f64.powi(-24)), shortest(2.0_f64.powi(-25)), shortest(2.0_f64.powi(-150))), (2, 4, 8));
        assert_eq!(shortest(1.0 + 2.0_f64.powi(-11)), 4);
    }

    #[test]
    fn a_nan_keeps_its_sign_and_its_payload() {
        for (float, bits) in [
            (from_half(0x7e00), 0x7ff8_0000_0000_0000),
            (from_half(0xfe01), 0xfff8_0400_0000_0000),
            (from_single(0x7f80_0001), 0x7ff0_0000_2000_0000),
            (from_single(0xffc0_0001), 0xfff8_0000_2000_0000),
        ] {
            assert_eq!(float.to_bits(), bits, "{bits:x}");
        }
    }
}
