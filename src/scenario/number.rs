//! Numbers as people type them: `4k`, `8,192`, `8 192`, `1e6`, `70.6b`, `80 GB`.
//!
//! Whole numbers are read exactly, digit by digit; floats are used only for fields that take
//! decimals. No crate was found that lets `k` mean 1024 in one field and 1000 in another and that
//! reads `70.6b` without rounding.

use crate::units;

/// Why a text is not a number for a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// Nothing was typed.
    Empty,
    /// The text does not read as a number with a unit of the field.
    NotANumber,
    /// Below zero.
    Negative,
    /// A fraction where a whole number is needed.
    NotWhole,
    /// More than can be held.
    TooLarge,
}

/// Reads a whole number. `kilo` is the factor that `k` stands for, `unit` the unit that may follow.
pub(super) fn integer(text: &str, kilo: u64, unit: &str) -> Result<u64, Problem> {
    let (number, suffix) = split(text)?;
    let factor = match unit_factor(unit, suffix) {
        Some(_) => 1,
        None => multiplier(suffix, kilo, unit).ok_or(Problem::NotANumber)?,
    };
    if number.digits.trim_start_matches('0').is_empty() {
        return Ok(0);
    }
    let digits: u128 = number.digits.parse().map_err(|_| Problem::TooLarge)?;
    let scaled = digits.checked_mul(u128::from(factor)).ok_or(Problem::TooLarge)?;
    let power = 10_u128.checked_pow(number.exponent.unsigned_abs());
    let whole = if number.exponent >= 0 {
        power.and_then(|power| scaled.checked_mul(power)).ok_or(Problem::TooLarge)?
    } else {
        let power = power.ok_or(Problem::NotWhole)?;
        if scaled % power != 0 {
            return Err(Problem::NotWhole);
        }
        scaled / power
    };
    u64::try_from(whole).map_err(|_| Problem::TooLarge)
}

/// Reads a decimal number in the given unit; related units are converted (GB to GiB, TB/s to GB/s).
pub(super) fn decimal(text: &str, unit: &str) -> Result<f64, Problem> {
    let (number, suffix) = split(text)?;
    let factor = match unit_factor(unit, suffix) {
        Some(factor) => factor,
        None => {
            multiplier(suffix, 1000, unit).map(crate::units::to_f64).ok_or(Problem::NotANumber)?
        }
    };
    let text = format!("{}e{}", number.digits, number.exponent);
    let value = units::decimal(&text).ok_or(Problem::TooLarge)?;
    let value = if factor.to_bits() == 1.0_f64.to_bits() { value } else { value * factor };
    if value.is_finite() { Ok(value) } else { Err(Problem::TooLarge) }
}

/// Returns a number and the text behind it, such as a unit; `None` where the text does not begin
/// with a number that is not negative.
///
/// ```
/// # use headroom::scenario::number_and_unit;
/// assert_eq!(number_and_unit("1 200.5 MB"), Some((1200.5, "MB")));
/// assert_eq!(number_and_unit("about 12"), None);
/// ```
pub fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let (number, unit) = split(text).ok()?;
    let text = format!("{}e{}", number.digits, number.exponent);
    Some((units::decimal(&text)?, unit))
}

/// A non-negative float rounded to the nearest count; NaN gives 0, anything too large the maximum.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float-to-int casts saturate, NaN becomes 0"
)]
pub(super) fn round_u64(value: f64) -> u64 {
    value.round() as u64
}

/// The number `digits · 10^exponent`.
struct Digits {
    digits: String,
    exponent: i32,
}

fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{200b}' | '\u{feff}')
}

fn is_mark(character: char) -> bool {
    is_space(character) || matches!(character, ',' | '_' | '\'' | '’')
}

/// Splits a text into its number and the rest.
fn split(text: &str) -> Result<(Digits, &str), Problem> {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    let text = text.trim_start_matches(['+', '$', '€', '£']).trim_start_matches(is_space);
    let (negative, text) = match text.strip_prefix(['-', '−', '–']) {
        Some(rest) => (true, rest.trim_start_matches(is_space)),
        None => (false, text),
    };
    let end = number_end(text);
    let (number, suffix) = text.split_at_checked(end).ok_or(Problem::NotANumber)?;
    let digits = digits(number).ok_or(Problem::NotANumber)?;
    if negative { Err(Problem::Negative) } else { Ok((digits, suffix.trim_matches(is_space))) }
}

/// Where the number at the start of the text ends: at the last digit or point that belongs to it.
fn number_end(text: &str) -> usize {
    let mut end = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((index, character)) = characters.next() {
        let after = index + character.len_utf8();
        if character.is_ascii_digit() || character == '.' {
            end = after;
        } else if end > 0
            && matches!(character, 'e' | 'E')
            && text.get(after..).is_some_and(starts_exponent)
        {
            characters.next_if(|(_, sign)| matches!(sign, '+' | '-'));
        } else if end == 0 || !is_mark(character) {
            break;
        }
    }
    end
}

fn starts_exponent(text: &str) -> bool {
    text.strip_prefix(['+', '-'])
        .unwrap_or(text)
        .starts_with(|character: char| character.is_ascii_digit())
}

/// Reads a number without unit: thousands may be marked with `,`, `_`, `'` or a space; one comma
/// can also be the decimal one.
fn digits(number: &str) -> Option<Digits> {
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => {
            (mantissa, exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= 400)?)
        }
        None => (number, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let (whole, fraction) = match whole.split_once(',') {
        Some((left, right))
            if fraction.is_empty()
                && right.len() != 3
                && !right.contains(is_mark)
                && !mantissa.contains('.') =>
        {
            (left, right)
        }
        _ => (whole, fraction),
    };
    let mut groups = whole.split(is_mark);
    let mut digits = groups.next()?.to_owned();
    let first = digits.len();
    for group in groups {
        if group.len() != 3 || first > 3 || first == 0 {
            return None;
        }
        digits.push_str(group);
    }
    digits.push_str(fraction);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    // Trailing zeros of a fraction carry nothing and would overflow early.
    let kept = if exponent < 0 { digits.trim_end_matches('0').len().max(1) } else { digits.len() };
    let dropped =
        digits.len().saturating_sub(kept).min(usize::try_from(exponent.unsigned_abs()).ok()?);
    digits.truncate(digits.len() - dropped);
    Some(Digits { digits, exponent: exponent + i32::try_from(dropped).ok()? })
}

/// The factor that a suffix stands for, with or without the unit behind it.
fn multiplier(suffix: &str, kilo: u64, unit: &str) -> Option<u64> {
    const BINARY: u64 = 1024;
    let table = [
        ("thousand", 1, 1000),
        ("million", 2, 1000),
        ("billion", 3, 1000),
        ("trillion", 4, 1000),
        ("bn", 3, 1000),
        ("ki", 1, BINARY),
        ("mi", 2, BINARY),
        ("gi", 3, BINARY),
        ("ti", 4, BINARY),
        ("k", 1, kilo),
        ("m", 2, kilo),
        ("b", 3, kilo),
        ("g", 3, kilo),
        ("t", 4, kilo),
    ];
    let lower = suffix.to_ascii_lowercase();
    table.into_iter().find_map(|(word, power, base)| {
        let rest = lower.strip_prefix(word)?.trim_start_matches(is_space);
        (rest.is_empty() || unit_factor(unit, rest).is_some()).then(|| base.pow(power))
    })
}

/// The factor that turns a number in the unit `written` into one in `unit`; `None` if `written` is
/// no such unit.
fn unit_factor(unit: &str, written: &str) -> Option<f64> {
    if written.is_empty() || written.eq_ignore_ascii_case(unit) {
        return Some(1.0);
    }
    let gibibyte = crate::units::to_f64(crate::units::Bytes::GIB);
    let factor = match (unit, written.to_ascii_lowercase().as_str()) {
        ("tokens", "token" | "tok")
        | ("sequences", "sequence" | "seq" | "seqs")
        | ("GPUs", "gpu")
        | ("stages", "stage")
        | ("%", "percent" | "per cent")
        | ("GiB", "g" | "gib")
        | ("TFLOP/s", "tflops" | "tflop" | "tf") => 1.0,
        ("GiB", "gb") => 1e9 / gibibyte,
        ("GiB", "mb") => 1e6 / gibibyte,
        ("GiB", "tb") => 1e12 / gibibyte,
        ("GiB", "mib") => 1.0 / 1024.0,
        ("GiB", "t" | "tib") => 1024.0,
        ("GB/s", "tb/s") | ("TFLOP/s", "pflop/s" | "pflops") => 1000.0,
        _ => return None,
    };
    Some(factor)
}
