//! Explanations written down: plain text, LaTeX, MathML.

mod latex;
mod mathml;
mod text;

pub use latex::latex;
pub use mathml::mathml;
pub use text::{document_words, is_itself, legend, numbers, source_words, symbols, text};

use super::expr::{Expr, FormulaValue};
use super::{Explanation, Measure};
use crate::units::{Bytes, MemoryUnit, grouped, thousands};

/// The form in which a formula is written: in letters, or with this job's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Letters and names.
    Symbols,
    /// Numbers.
    Numbers,
}

/// A named formula, for both forms, with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenFormula<'a> {
    /// Its name; empty for the figure itself.
    pub label: &'a str,
    /// The formula.
    pub expr: &'a Expr,
    /// The result, in words.
    pub result: String,
}

impl Explanation {
    /// The figure's formula, and those of the parts it names, outermost first.
    pub fn written(&self, unit: MemoryUnit) -> Vec<WrittenFormula<'_>> {
        let own = WrittenFormula { label: "", expr: &self.expr, result: self.result(unit) };
        let parts = self.expr.parts().into_iter().filter_map(|part| {
            let how = part.how.as_ref()?;
            let measure = if part.bytes { Measure::Bytes } else { Measure::Number("") };
            let printed = self.printed_of(&part.label).filter(|_| part.bytes);
            Some(WrittenFormula {
                label: &part.label,
                expr: how,
                result: in_words(measure, part.value, unit, printed),
            })
        });
        std::iter::once(own).chain(parts).collect()
    }

    /// The value of the figure in words: bytes exactly and in both units.
    pub fn result(&self, unit: MemoryUnit) -> String {
        let value = match self.expr.exact().and_then(|value| u64::try_from(value).ok()) {
            Some(value) => FormulaValue::Whole(value),
            None => FormulaValue::Real(self.expr.value()),
        };
        in_words(self.measure, value, unit, self.printed_of(""))
    }

    /// The amount that the ledger prints for the formula of that name.
    pub fn printed_of(&self, label: &str) -> Option<&str> {
        self.printed.iter().find(|(known, _)| known == label).map(|(_, words)| words.as_str())
    }
}

/// A value in words; bytes that the ledger prints are given in the ledger's words.
fn in_words(
    measure: Measure,
    value: FormulaValue,
    unit: MemoryUnit,
    printed: Option<&str>,
) -> String {
    match (measure, value) {
        (Measure::Bytes, FormulaValue::Whole(bytes)) => bytes_in_words(bytes, unit, printed),
        (Measure::Share, value) => format!("{} %", grouped(100.0 * value.real(), 1)),
        (Measure::Seconds, value) => format!("{} s", number(value)),
        (Measure::Bytes | Measure::Number(""), value) => number(value),
        (Measure::Number(of), value) => format!("{} {of}", number(value)),
    }
}

/// Returns the value of a formula for bytes, in words: the exact bytes, and the amount in both
/// units, `unit` first.
pub fn result_of(expr: &Expr, unit: MemoryUnit) -> String {
    let bytes = expr.exact().and_then(|bytes| u64::try_from(bytes).ok());
    bytes.map_or_else(
        || number(FormulaValue::Real(expr.value())),
        |bytes| bytes_in_words(bytes, unit, None),
    )
}

/// Bytes exactly, and in both units, the page's first; or in the printed words, if they are given.
fn bytes_in_words(bytes: u64, unit: MemoryUnit, printed: Option<&str>) -> String {
    let other = if unit == MemoryUnit::Gb { MemoryUnit::Gib } else { MemoryUnit::Gb };
    let exact = whole(u128::from(bytes));
    if let Some(printed) = printed {
        return format!("{exact} bytes = {printed}");
    }
    if bytes < 1000 {
        return format!("{exact} bytes");
    }
    format!("{exact} bytes = {} ({})", unit.show(Bytes(bytes)), other.show(Bytes(bytes)))
}

/// A whole number with thin-space thousands.
pub(super) fn whole(value: u128) -> String {
    thousands(&value.to_string())
}

/// A number: whole ones exactly, others with six digits.
pub(super) fn number(value: FormulaValue) -> String {
    match value {
        FormulaValue::Whole(value) => whole(u128::from(value)),
        FormulaValue::Real(value) if !value.is_finite() => "not a number".to_owned(),
        FormulaValue::Real(value) => {
            let size = value.abs();
            let decimals = [
                (1e5, 0),
                (1e4, 1),
                (1e3, 2),
                (1e2, 3),
                (10.0, 4),
                (1.0, 5),
                (0.1, 6),
                (0.01, 7),
                (1e-3, 8),
                (1e-4, 9),
            ];
            let decimals = decimals
                .into_iter()
                .find(|(least, _)| size >= *least)
                .map_or(12, |(_, decimals)| decimals);
            let text = grouped(value, decimals);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
    }
}

/// How tightly a formula holds together, for brackets: sums 0, products 1, anything else 2.
pub(super) fn tightness(expr: &Expr) -> u8 {
    match expr {
        Expr::Sum(_) | Expr::Less(..) => 0,
        Expr::Product(_) | Expr::Quotient(..) => 1,
        _ => 2,
    }
}
