//! CBOR in deterministic encoding (RFC 001 section 8.1, RFC 8949 section 4.2): one pass from any well-formed encoding to the
//! shortest one with sorted keys.

/// How deep arrays, maps and tags may be nested.
const DEPTH: usize = 128;

/// The deterministic encoding of one CBOR item, or `None` if the bytes are not one, or a map has a key twice.
pub fn deterministic(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader { bytes, at: 0 };
    let item = reader.item(0)?;
    (reader.at == bytes.len()).then_some(item)
}

struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

/// The argument of a head: a number, or no definite length.
#[derive(Clone, Copy, PartialEq)]
enum Argument {
    Number(u64),
    Indefinite,
}

impl<'b> Reader<'b> {
    fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let end = self.at.checked_add(usize::try_from(length).ok()?)?;
        let taken = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    /// Major type, additional information and argument.
    fn head(&mut self) -> Option<(u8, u8, Argument)> {
        let first = self.take(1)?[0];
        let (major, info) = (first >> 5, first & 31);
        let argument = match info {
            0..=23 => Argument::Number(info.into()),
            24..=27 => {
                let bytes = self.take(1 << (info - 24))?;
                Argument::Number(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            31 if (2..=5).contains(&major) => Argument::Indefinite,
            _ => return None,
        };
        Some((major, info, argument))
    }

    /// Whether the end of a list without a length is here, which is then consumed.
    fn ends(&mut self) -> bool {
        let ends = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(ends);
        ends
    }

    fn item(&mut self, depth: usize) -> Option<Vec<u8>> {
        if depth > DEPTH {
            return None;
        }
        let (major, info, argument) = self.head()?;
        match (major, argument) {
            (0 | 1, Argument::Number(number)) => Some(head(major, number)),
            (2 | 3, _) => self.string(major, argument),
            (4, _) => self.array(argument, depth),
            (5, _) => self.map(argument, depth),
            (6, Argument::Number(tag)) => Some([head(6, tag), self.item(depth + 1)?].concat()),
            (7, Argument::Number(number)) => match info {
                0..=23 => Some(head(7, number)),
                24 => (number >= 32).then(|| head(7, number)),
                25 => Some(float(half(number))),
                26 => Some(float(f64::from(f32::from_bits(u32::try_from(number).ok()?)))),
                _ => Some(float(f64::from_bits(number))),
            },
            _ => None,
        }
    }

    fn string(&mut self, major: u8, argument: Argument) -> Option<Vec<u8>> {
        let mut content = Vec::new();
        let mut part = |bytes: &[u8]| {
            content.extend_from_slice(bytes);
            (major == 2 || std::str::from_utf8(bytes).is_ok()).then_some(())
        };
        match argument {
            Argument::Number(length) => part(self.take(length)?)?,
            Argument::Indefinite => {
                while !self.ends() {
                    let (of_part, _, Argument::Number(length)) = self.head()? else { return None };
                    if of_part != major {
                        return None;
                    }
                    part(self.take(length)?)?;
                }
            }
        }
        Some([head(major, content.len() as u64), content].concat())
    }

    fn array(&mut self, argument: Argument, depth: usize) -> Option<Vec<u8>> {
        let (mut items, mut count) = (Vec::new(), 0);
        while self.goes_on(argument, count) {
            items.extend(self.item(depth + 1)?);
            count += 1;
        }
        Some([head(4, count), items].concat())
    }

    fn map(&mut self, argument: Argument, depth: usize) -> Option<Vec<u8>> {
        let mut members = Vec::new();
        while self.goes_on(argument, members.len() as u64) {
            members.push((self.item(depth + 1)?, self.item(depth + 1)?));
        }
        members.sort();
        let twice = members.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let count = members.len() as u64;
        let content: Vec<u8> = members.into_iter().flat_map(|(key, value)| [key, value].concat()).collect();
        (!twice).then(|| [head(5, count), content].concat())
    }

    fn goes_on(&mut self, argument: Argument, count: u64) -> bool {
        match argument {
            Argument::Number(length) => count < length,
            Argument::Indefinite => !self.ends(),
        }
    }
}

/// The shortest head with this argument.
fn head(major: u8, number: u64) -> Vec<u8> {
    let major = major << 5;
    let bytes = number.to_be_bytes();
    match number {
        0..=23 => vec![major | bytes[7]],
        24..=0xff => vec![major | 24, bytes[7]],
        0x100..=0xffff => [&[major | 25], &bytes[6..]].concat(),
        0x1_0000..=0xffff_ffff => [&[major | 26], &bytes[4..]].concat(),
        _ => [&[major | 27], &bytes[..]].concat(),
    }
}

/// The shortest encoding of a number; every NaN becomes the same.
fn float(value: f64) -> Vec<u8> {
    if value.is_nan() {
        return vec![0xf9, 0x7e, 0x00];
    }
    let single = value as f32;
    if f64::from(single).to_bits() != value.to_bits() {
        return [&[0xfb], &value.to_bits().to_be_bytes()[..]].concat();
    }
    // A half float has few values: those of the same sign are in order, so the one that is equal is found by halving.
    let sign = u16::from(value.is_sign_negative()) << 15;
    let (mut low, mut high) = (0_u16, 0x7c00);
    while low < high {
        let middle = low + (high - low) / 2;
        if half(middle.into()) < value.abs() { low = middle + 1 } else { high = middle }
    }
    if half(low.into()) == value.abs() {
        return [&[0xf9], &(sign | low).to_be_bytes()[..]].concat();
    }
    [&[0xfa], &single.to_bits().to_be_bytes()[..]].concat()
}

/// The value of a half float.
fn half(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 0x3ff) as f64);
    let size = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits >> 15 & 1 == 1 { -size } else { size }
}
