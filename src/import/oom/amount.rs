//! Amounts of memory as programs print them, with the precision of the print.

use std::fmt;

/// Bytes between two bounds, both of which are possible.
///
/// Differences and sums saturate: the bounds come from prints, and a print may contradict another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByteRange {
    /// The fewest bytes that agree with the message.
    pub low: u64,
    /// The most bytes that agree with the message.
    pub high: u64,
}

impl ByteRange {
    /// Returns the range of a number of bytes that is known exactly.
    pub const fn exactly(bytes: u64) -> Self {
        Self { low: bytes, high: bytes }
    }

    /// Returns both amounts together, bytes.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self { low: self.low.saturating_add(other.low), high: self.high.saturating_add(other.high) }
    }

    /// Returns this amount without the other one, bytes, at least nothing.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self { low: self.low.saturating_sub(other.high), high: self.high.saturating_sub(other.low) }
    }

    /// Returns true if this is at least the other amount; `None` where the prints are too coarse to
    /// tell.
    ///
    /// ```
    /// # use headroom::import::oom::ByteRange;
    /// let (two, three) = (ByteRange::exactly(2), ByteRange::exactly(3));
    /// assert_eq!(three.covers(two), Some(true));
    /// assert_eq!(two.covers(three), Some(false));
    /// assert_eq!(ByteRange { low: 1, high: 9 }.covers(two), None);
    /// ```
    pub const fn covers(self, other: Self) -> Option<bool> {
        if self.low >= other.high {
            Some(true)
        } else if self.high < other.low {
            Some(false)
        } else {
            None
        }
    }

    /// Returns true if that many bytes lie between the bounds.
    pub const fn contains(self, bytes: u64) -> bool {
        self.low <= bytes && bytes <= self.high
    }

    /// Returns the number of bytes halfway between the bounds.
    pub const fn middle(self) -> u64 {
        self.low.midpoint(self.high)
    }
}

impl fmt::Display for ByteRange {
    /// The middle of the range in the unit that suits it, as PyTorch prints sizes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.middle();
        let Some(unit) = [GIB, MIB, KIB].into_iter().find(|unit| bytes >= unit.bytes) else {
            return write!(f, "{bytes} bytes");
        };
        let hundredths =
            (u128::from(bytes) * 100 + u128::from(unit.bytes / 2)) / u128::from(unit.bytes);
        write!(f, "{}.{:02} {}", hundredths / 100, hundredths % 100, unit.word)
    }
}

/// A unit of a print: its word and its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unit {
    word: &'static str,
    bytes: u64,
}

const KIB: Unit = Unit { word: "KiB", bytes: 1 << 10 };
const MIB: Unit = Unit { word: "MiB", bytes: 1 << 20 };
const GIB: Unit = Unit { word: "GiB", bytes: 1 << 30 };
const BYTES: Unit = Unit { word: "bytes", bytes: 1 };

/// Units by the letters that follow a number. GB is 2³⁰ bytes here, because every program that we
/// read divides by 1024 whatever it writes: PyTorch's MPSAllocator.h (`size / 1073741824.0 << "
/// GB"`), the Linux kernel's kB, XLA's G, SGLang's and older vLLM's GB (`/ (1 << 30)`).
const UNITS: [(&str, Unit); 9] = [
    ("bytes", BYTES),
    ("kib", KIB),
    ("mib", MIB),
    ("gib", GIB),
    ("tib", Unit { word: "TiB", bytes: 1 << 40 }),
    ("kb", Unit { word: "kB", bytes: 1 << 10 }),
    ("mb", Unit { word: "MB", bytes: 1 << 20 }),
    ("gb", Unit { word: "GB", bytes: 1 << 30 }),
    ("tb", Unit { word: "TB", bytes: 1 << 40 }),
];

/// XLA's one-letter units, which only its own messages may use: elsewhere the letter would be the
/// start of a word.
const LETTERS: [(&str, Unit); 4] = [
    ("g", Unit { word: "G", bytes: 1 << 30 }),
    ("m", Unit { word: "M", bytes: 1 << 20 }),
    ("k", Unit { word: "K", bytes: 1 << 10 }),
    ("b", BYTES),
];

/// An amount of memory as a message prints it.
///
/// A print is rounded, so an amount is a range of bytes: "3.91 GiB" is any number of bytes that
/// prints so. A tie belongs to both of its neighbours, because programs differ in how they round
/// it. "608 bytes" is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrintedAmount {
    /// The digits of the print without the point.
    digits: u64,
    /// How many of the digits stand behind the point.
    decimals: u8,
    unit: Unit,
    /// The print is a lower bound: "more than 1EB".
    or_more: bool,
    range: ByteRange,
}

impl PrintedAmount {
    /// Returns the amount that a text states and nothing else; `None` for anything else and for
    /// more than 2⁶⁴ bytes.
    ///
    /// ```
    /// # use headroom::import::oom::PrintedAmount;
    /// let amount = PrintedAmount::parse("3.91 GiB").unwrap();
    /// assert!(amount.contains(4 * 1024 * 256_000 * 4));
    /// assert_eq!(amount.to_string(), "3.91 GiB");
    /// assert_eq!(PrintedAmount::parse("1,234 bytes").unwrap().exact(), Some(1234));
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let text: String = text
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect::<String>()
            .to_ascii_lowercase();
        match printed_at(&text, 0, false)? {
            (Print::Amount(amount), end) if end == text.len() => Some(amount),
            _ => None,
        }
    }

    /// Returns a number of bytes that a message states exactly.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            digits: bytes,
            decimals: 0,
            unit: BYTES,
            or_more: false,
            range: ByteRange::exactly(bytes),
        }
    }

    /// "More than 1EB": PyTorch refuses such a size before it asks for it
    /// (CUDACachingAllocator.cpp, `one_exa_bytes`).
    pub(super) const fn more_than_an_exbibyte() -> Self {
        let unit = Unit { word: "EiB", bytes: 1 << 60 };
        Self {
            digits: 1,
            decimals: 0,
            unit,
            or_more: true,
            range: ByteRange { low: 1 << 60, high: u64::MAX },
        }
    }

    /// The amount where a program cuts the rest off instead of rounding: "72GB" is 72 to 73 GiB.
    pub(super) fn cut_off(self) -> Self {
        let low = self.digits.saturating_mul(self.unit.bytes);
        Self { range: ByteRange { low, high: low.saturating_add(self.unit.bytes - 1) }, ..self }
    }

    /// Returns the bytes that print so: all amounts that round to the printed number.
    pub const fn range(self) -> ByteRange {
        self.range
    }

    /// Returns true if that many bytes are printed like this amount.
    pub const fn contains(self, bytes: u64) -> bool {
        self.range.contains(bytes)
    }

    /// Returns the number of bytes where the print is exact; `None` where it is rounded.
    pub fn exact(self) -> Option<u64> {
        (self.range.low == self.range.high).then_some(self.range.low)
    }
}

impl fmt::Display for PrintedAmount {
    /// The amount as the program prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.or_more { "more than " } else { "" };
        let scale = 10_u64.checked_pow(self.decimals.into()).unwrap_or(u64::MAX);
        let (whole, rest) = (self.digits / scale, self.digits % scale);
        match self.decimals {
            0 => write!(f, "{more}{whole} {}", self.unit.word),
            decimals => write!(
                f,
                "{more}{whole}.{rest:0width$} {}",
                self.unit.word,
                width = usize::from(decimals)
            ),
        }
    }
}

/// A number with a unit as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Print {
    /// An amount below 2⁶⁴ bytes.
    Amount(PrintedAmount),
    /// More than any machine has: a broken print such as 17179869184.00 GiB, or nonsense.
    TooLarge,
}

/// Reads the amount that starts at a place of a squeezed text; also returns where it ends.
/// `letters` allows XLA's one-letter units.
pub(super) fn printed_at(text: &str, at: usize, letters: bool) -> Option<(Print, usize)> {
    let rest = text.get(at..)?;
    let (number, decimals, length) = number_of(rest)?;
    let after = rest.get(length..)?;
    let mut units = UNITS.iter().chain(LETTERS.iter().filter(|_| letters));
    let (word, unit) = units.find(|(word, _)| after.starts_with(word))?;
    let end = at + length + word.len();
    let read = number.and_then(|digits| amount(digits, decimals, *unit));
    Some((read.map_or(Print::TooLarge, Print::Amount), end))
}

/// The amount of that many units, if it is below 2⁶⁴ bytes.
fn amount(digits: u64, decimals: u8, unit: Unit) -> Option<PrintedAmount> {
    let scale = 2 * 10_u128.checked_pow(decimals.into())?;
    let (doubled, unit_bytes) = (2 * u128::from(digits), u128::from(unit.bytes));
    let (low, high) = if unit.bytes == 1 && decimals == 0 {
        (digits, digits)
    } else {
        let low = (doubled.saturating_sub(1) * unit_bytes).div_ceil(scale);
        let high = (doubled + 1) * unit_bytes / scale;
        (u64::try_from(low).ok()?, u64::try_from(high).ok()?)
    };
    Some(PrintedAmount { digits, decimals, unit, or_more: false, range: ByteRange { low, high } })
}

/// Digits with an optional point and with commas between groups of three: the number without its
/// point (`None` where it is too long), how many decimals it has, and its length in the text.
fn number_of(text: &str) -> Option<(Option<u64>, u8, usize)> {
    let (mut digits, mut fits, mut decimals, mut length) = (0_u64, true, None::<u8>, 0);
    let bytes = text.as_bytes();
    while let Some(letter) = bytes.get(length) {
        match letter {
            b'0'..=b'9' => {
                let longer = digits
                    .checked_mul(10)
                    .and_then(|tens| tens.checked_add(u64::from(letter - b'0')));
                fits &= longer.is_some() && decimals.is_none_or(|count| count < 15);
                digits = longer.unwrap_or(digits);
                decimals = decimals.map(|count| count.saturating_add(1));
            }
            b'.' if decimals.is_none() && length > 0 => decimals = Some(0),
            b',' if decimals.is_none() && is_group(bytes, length) => {}
            // The decimal comma of a locale: "1900,00 MiB".
            b',' if decimals.is_none() && is_decimal(bytes, length) => decimals = Some(0),
            _ => break,
        }
        length += 1;
    }
    let starts_well = bytes.first().is_some_and(u8::is_ascii_digit);
    starts_well.then_some((fits.then_some(digits), decimals.unwrap_or(0), length))
}

/// True if exactly three digits follow the comma.
fn is_group(bytes: &[u8], comma: usize) -> bool {
    let digit = |place: usize| bytes.get(place).is_some_and(u8::is_ascii_digit);
    comma > 0 && digit(comma + 1) && digit(comma + 2) && digit(comma + 3) && !digit(comma + 4)
}

/// True if one or two digits follow the comma, and a unit after them.
fn is_decimal(bytes: &[u8], comma: usize) -> bool {
    let digits = bytes.iter().skip(comma + 1).take_while(|letter| letter.is_ascii_digit()).count();
    let has_unit = bytes.get(comma + 1 + digits).is_some_and(u8::is_ascii_alphabetic);
    comma > 0 && (1..=2).contains(&digits) && has_unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_print_is_every_number_of_bytes_that_prints_so() {
        let amount = PrintedAmount::parse("3.91 GiB").unwrap();
        // 3.905 GiB and 3.915 GiB, rounded inwards.
        assert_eq!(amount.range(), ByteRange { low: 4_192_961_823, high: 4_203_699_240 });
        assert_eq!(PrintedAmount::parse("0 bytes").unwrap().exact(), Some(0));
        assert_eq!(
            PrintedAmount::parse("72GB").unwrap().cut_off().range(),
            ByteRange { low: 72 << 30, high: (73 << 30) - 1 }
        );
    }

    #[test]
    fn ties_belong_to_both_prints() {
        // 0.125 GiB is printed as 0.12 by C++ and as 0.13 elsewhere.
        assert!(PrintedAmount::parse("0.12 GiB").unwrap().contains(1 << 27));
        assert!(PrintedAmount::parse("0.13 GiB").unwrap().contains(1 << 27));
    }

    #[test]
    fn nonsense_is_no_amount() {
        let huge = format!("1{} GiB", "0".repeat(30));
        for text in [
            "",
            "GiB",
            "3.91",
            "3.. GiB",
            ".5 GiB",
            "1,2345 GiB",
            "17179869184.00 GiB",
            "1e9 bytes",
            &huge,
        ] {
            assert_eq!(PrintedAmount::parse(text), None, "{text}");
        }
        // NumPy prints three digits and the point behind them.
        assert_eq!(PrintedAmount::parse("381. MiB").unwrap().to_string(), "381 MiB");
        assert_eq!(PrintedAmount::parse("1900,00 MiB").unwrap().to_string(), "1900.00 MiB");
        assert_eq!(printed_at("17179869184.00gib", 0, false), Some((Print::TooLarge, 17)));
    }

    #[test]
    fn every_print_contains_its_own_number() {
        let mut state = 7_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let bytes = state >> (20 + state % 40);
            let text = ByteRange::exactly(bytes).to_string();
            let amount = PrintedAmount::parse(&text).unwrap();
            assert!(amount.contains(bytes), "{bytes} in {text}");
            assert_eq!(amount.to_string(), text);
        }
    }
}
