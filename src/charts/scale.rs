//! Places of numbers on an axis, and the numbers that are written beside it.

use crate::units::{ceil_u64, to_f64, two_to};

/// The way in which x values are spread over the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum XScale {
    /// Evenly.
    #[default]
    Linear,
    /// By doublings. Values of zero or less are left out.
    Log2,
}

impl XScale {
    /// The position of a value on the unrolled axis, or `None` when it has none.
    pub(super) fn unroll(self, x: f64) -> Option<f64> {
        let u = match self {
            Self::Linear => x,
            // `log2` and `powf` are not used: with `exp2` they would be a tenth of all arithmetic
            // that the page loads.
            Self::Log2 if x > 0.0 => x.ln() * std::f64::consts::LOG2_E,
            Self::Log2 => return None,
        };
        (u.is_finite() && u.abs() < 1e30).then_some(u)
    }

    /// The value at a position of the unrolled axis.
    pub(super) fn roll(self, u: f64) -> f64 {
        match self {
            Self::Linear => u,
            Self::Log2 => two_to(u),
        }
    }
}

/// The way in which x values are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TickStyle {
    /// Tokens, in multiples of powers of two: `512`, `4k` (4 096), `1M` (1 048 576).
    #[default]
    Tokens,
    /// Counts: `1`, `8`, `24`.
    Plain,
}

impl TickStyle {
    /// The text of a value.
    pub(super) fn text(self, x: f64) -> String {
        let whole = |part: f64| part >= 1.0 && part.fract().abs() < 1e-9;
        let (kibi, mebi) = (x / 1024.0, x / 1_048_576.0);
        match self {
            Self::Tokens if whole(mebi) => format!("{mebi:.0}M"),
            Self::Tokens if whole(kibi) => format!("{kibi:.0}k"),
            _ => short(x, 0),
        }
    }
}

/// A number with that many decimals, or in powers of ten from ten million on.
pub(super) fn short(value: f64, decimals: usize) -> String {
    if value.abs() >= 1e7 {
        return format!("{value:.1e}");
    }
    format!("{value:.decimals$}")
}

/// The step of 1, 2 or 5 times a power of ten (or 25, 250, …) that splits `span` into at most
/// `most` parts.
pub(super) fn round_step(span: f64, most: f64) -> f64 {
    let raw = span / most.max(1.0);
    if !raw.is_finite() || raw <= 0.0 {
        return 1.0;
    }
    let power = power_of_ten_below(raw);
    let quarter = if power >= 10.0 { 2.5 } else { 5.0 };
    [1.0, 2.0, quarter, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|step| *step >= raw * 0.999_999)
        .unwrap_or(10.0 * power)
}

/// 1, 10, 100, … as far as floats go.
fn powers_of_ten() -> impl Iterator<Item = f64> {
    std::iter::successors(Some(1.0), |power| Some(power * 10.0))
        .take_while(|power: &f64| power.is_finite())
}

/// The largest power of ten that is not above a positive number.
fn power_of_ten_below(value: f64) -> f64 {
    if value >= 1.0 {
        return powers_of_ten().take_while(|power| *power <= value).last().unwrap_or(1.0);
    }
    powers_of_ten()
        .map(|power| 1.0 / power)
        .find(|power| *power <= value)
        .unwrap_or(f64::MIN_POSITIVE)
}

/// Multiples of `step` from `low` to `high`, at most forty.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-9).ceil();
    (0..40_u32)
        .map(|i| (first + f64::from(i)) * step)
        .take_while(|value| *value <= high + step * 1e-9)
        .collect()
}

/// Values and texts along the y axis from zero to `high`, about `most` of them.
pub(super) fn y_ticks(high: f64, most: f64) -> Vec<(f64, String)> {
    let step = round_step(high, most);
    let places = (0..12_usize)
        .zip(powers_of_ten())
        .find(|(_, power)| step * power >= 0.999_999)
        .map_or(12, |(places, _)| places);
    multiples(0.0, high, step).into_iter().map(|value| (value, short(value, places))).collect()
}

/// Values along the x axis between two positions of the unrolled axis, at most about `most`.
pub(super) fn x_ticks(
    scale: XScale,
    style: TickStyle,
    (low, high): (f64, f64),
    most: f64,
) -> Vec<f64> {
    let span = high - low;
    let step = match (scale, style) {
        (XScale::Log2, _) => (span / most).ceil().max(1.0),
        (XScale::Linear, TickStyle::Tokens) => {
            to_f64(ceil_u64((span / most).clamp(1.0, 1e15)).next_power_of_two())
        }
        (XScale::Linear, TickStyle::Plain) => round_step(span, most).max(1.0),
    };
    multiples(low, high, step).into_iter().map(|u| scale.roll(u)).collect()
}
