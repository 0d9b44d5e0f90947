//! The characters of a link: the text around it, how names are written, and its check sum.

use super::LONGEST;
use crate::units::is_of_a_word;

/// The fragment of a link as it was written: without address and `#`, percent-decoded, without
/// punctuation around it.
///
/// # Errors
/// The number of characters of a link that is too long.
pub(super) fn fragment(link: &str) -> Result<String, usize> {
    // Percent-encoding makes three characters of one, twice encoding makes five.
    if link.len() > 6 * LONGEST {
        return Err(link.chars().count());
    }
    let mut text = link.to_owned();
    for _ in 0..3 {
        if !text.contains('%') {
            break;
        }
        text = percent_decoded(&text);
    }
    let text = text.replace("&amp;", "&");
    let text = text.split_once('#').map_or(text.as_str(), |(_, fragment)| fragment);
    let text: String =
        text.chars().filter(|character| !matches!(character, '\r' | '\n' | '\t')).collect();
    let text = text.trim_matches(|character: char| !is_of_a_word(character));
    if text.len() > LONGEST { Err(text.chars().count()) } else { Ok(text.to_owned()) }
}

/// Replaces `%41` by `A`; other text stays.
fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match tail {
            [high, low, ..] if *first == b'%' => {
                hex(*high).zip(hex(*low)).map(|(high, low)| 16 * high + low)
            }
            _ => None,
        };
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Writes a name: letters and digits as they are, a blank as `-`, everything else as `.` code
/// points in hexadecimal `z`.
///
/// `ZeRO-3, tight` becomes `ZeRO.2dz3.2cz-tight`; no name at all is `.z`.
pub(super) fn escape(name: &str) -> String {
    if name.is_empty() {
        return NO_NAME.to_owned();
    }
    let mut out = String::new();
    let mut is_open = false;
    for character in name.chars() {
        let is_plain = character.is_ascii_alphanumeric() || character == ' ';
        if is_plain {
            if is_open {
                out.push('z');
            }
            out.push(if character == ' ' { '-' } else { character });
        } else {
            out.push(if is_open { '-' } else { '.' });
            out.push_str(&format_hex(character));
        }
        is_open = !is_plain;
    }
    if is_open {
        out.push('z');
    }
    out
}

/// The text that stands for an empty name.
const NO_NAME: &str = ".z";

fn format_hex(character: char) -> String {
    format!("{:x}", u32::from(character))
}

/// Reads the output of [`escape`]; text that is no such code stays as it is.
pub(super) fn unescape(text: &str) -> String {
    if text == NO_NAME {
        return String::new();
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some((decoded, after)) = rest.strip_prefix('.').and_then(codes) {
            out.push_str(&decoded);
            rest = after;
        } else {
            out.push(if character == '-' { ' ' } else { character });
            rest = rest.get(character.len_utf8()..).unwrap_or_default();
        }
    }
    out
}

/// The characters whose codes stand before the next `z`, and what follows it.
fn codes(text: &str) -> Option<(String, &str)> {
    let (codes, after) = text.split_once('z')?;
    let decoded: Option<String> = codes
        .split('-')
        .map(|code| u32::from_str_radix(code, 16).ok().and_then(char::from_u32))
        .collect();
    Some((decoded?, after))
}

/// Three letters or digits that change when any part is cut off or altered (64-bit FNV-1a,
/// reduced).
pub(super) fn check_sum<'a, K: AsRef<str> + 'a, V: AsRef<str> + 'a>(
    version: &str,
    parts: impl Iterator<Item = &'a (K, V)>,
) -> String {
    let mut hash = Fnv::new();
    hash.add(version);
    for (key, value) in parts {
        for text in ["&", key.as_ref(), "=", value.as_ref()] {
            hash.add(text);
        }
    }
    hash.letters()
}

struct Fnv(u64);

impl Fnv {
    const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn letters(&self) -> String {
        let mut rest = self.0 ^ (self.0 >> 32);
        let mut letters = String::new();
        for _ in 0..3 {
            letters.push(
                u32::try_from(rest % 36)
                    .ok()
                    .and_then(|digit| char::from_digit(digit, 36))
                    .unwrap_or('0'),
            );
            rest /= 36;
        }
        letters
    }
}
