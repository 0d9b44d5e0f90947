//! Floating-point operations, rates, seconds, and the few documented conversions to `f64`.

use std::iter::Sum;
use std::ops::{Add, Div, Mul};

/// Returns the nearest float of a count: exact up to 2⁵³. Only charts, ratios and FLOPs use larger
/// counts.
#[expect(clippy::cast_precision_loss, reason = "the one documented conversion of counts to floats")]
pub const fn to_f64(count: u64) -> f64 {
    count as f64
}

/// Returns a non-negative float rounded up to a count; NaN gives 0, anything too large the maximum.
///
/// ```
/// # use headroom::units::ceil_u64;
/// assert_eq!([ceil_u64(2.1), ceil_u64(f64::NAN), ceil_u64(1e30)], [3, 0, u64::MAX]);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "float-to-int casts saturate, NaN becomes 0"
)]
pub fn ceil_u64(value: f64) -> u64 {
    value.ceil() as u64
}

/// Returns `2^power`, exact for whole powers; below the smallest normal float it gives 0, above the
/// largest infinity.
///
/// `exp2` is not used, because its table is 4 kB of the page that do not compress.
///
/// ```
/// # use headroom::units::two_to;
/// assert_eq!(two_to(13.0), 8192.0);
/// assert!((two_to(0.5) - 2_f64.sqrt()).abs() < 1e-15);
/// ```
pub fn two_to(power: f64) -> f64 {
    const EXPONENT_BIAS: f64 = 1023.0;
    const MANTISSA_BITS: u32 = 52;
    let whole = power.floor();
    // A float with this exponent field and no mantissa: 0 gives zero, the largest field infinity.
    let exponent = ceil_u64((whole + EXPONENT_BIAS).clamp(0.0, 2.0 * EXPONENT_BIAS + 1.0));
    f64::from_bits(exponent << MANTISSA_BITS) * ((power - whole) * std::f64::consts::LN_2).exp()
}

/// Returns a number with thin spaces between thousands and a fixed count of decimals.
///
/// ```
/// # use headroom::units::grouped;
/// assert_eq!(grouped(1_234_567.0, 0), "1\u{202f}234\u{202f}567");
/// assert_eq!(grouped(12.345, 1), "12.3");
/// ```
pub fn grouped(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let (whole, rest) = text.find('.').map_or((text.as_str(), ""), |dot| text.split_at(dot));
    thousands(whole) + rest
}

/// Returns a whole number with a thin space between groups of three digits, from five digits on.
///
/// ```
/// # use headroom::units::whole;
/// assert_eq!([whole(8192), whole(16_384)], ["8192", "16\u{202f}384"]);
/// ```
pub fn whole(number: u64) -> String {
    thousands(&number.to_string())
}

/// Returns the digits of a whole number, with or without a sign, with a thin space between groups
/// of three from five digits on.
pub fn thousands(whole: &str) -> String {
    if whole.len() <= 4 {
        return whole.to_owned();
    }
    let mut out = String::with_capacity(whole.len() * 2);
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) && !out.ends_with('-') {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

macro_rules! float_quantity {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(pub f64);

        impl Add for $name {
            type Output = Self;
            fn add(self, other: Self) -> Self {
                Self(self.0 + other.0)
            }
        }

        impl Mul<f64> for $name {
            type Output = Self;
            fn mul(self, factor: f64) -> Self {
                Self(self.0 * factor)
            }
        }

        impl Sum for $name {
            fn sum<I: Iterator<Item = Self>>(items: I) -> Self {
                items.fold(Self(0.0), Add::add)
            }
        }
    };
}

float_quantity! {
    /// A count of floating-point operations (a multiply-add counts two).
    Flops
}
float_quantity! {
    /// Floating-point operations per second.
    FlopsPerSecond
}
float_quantity! {
    /// Seconds.
    Seconds
}

impl Div<FlopsPerSecond> for Flops {
    type Output = Seconds;
    fn div(self, rate: FlopsPerSecond) -> Seconds {
        Seconds(self.0 / rate.0)
    }
}

impl Flops {
    /// One peta-FLOP/s kept up for one day.
    pub const PFLOP_DAY: f64 = 8.64e19;

    /// Returns the amount in PFLOP-days: FLOPs over `8.64 · 10¹⁹`.
    pub fn pflop_days(self) -> f64 {
        self.0 / Self::PFLOP_DAY
    }
}

impl Seconds {
    /// Returns the time in hours.
    pub fn hours(self) -> f64 {
        self.0 / 3600.0
    }

    /// Returns the time in days.
    pub fn days(self) -> f64 {
        self.0 / 86_400.0
    }
}
