//! A formula as a tree: the parts of a figure, down to the inputs, with the value of each.

use crate::estimator::MemoryKind;
use crate::units::to_f64;

/// The value of a part of a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FormulaValue {
    /// A whole number: bytes, counts.
    Whole(u64),
    /// Any other: seconds, rates, shares.
    Real(f64),
}

impl FormulaValue {
    /// Returns the value as a float.
    pub fn real(self) -> f64 {
        match self {
            Self::Whole(value) => to_f64(value),
            Self::Real(value) => value,
        }
    }
}

/// An input, a dimension or a fixed number that has a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Symbol {
    /// How it is written: a letter, a word, or the number itself.
    pub letter: String,
    /// Its name: a Hugging Face key or a word of Megatron-LM's; empty where the meaning alone is
    /// enough.
    pub name: &'static str,
    /// Its meaning.
    pub meaning: String,
    /// Its value in this job.
    pub value: FormulaValue,
}

/// A part of a formula that has a name, and possibly a formula of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPart {
    /// Its name.
    pub label: String,
    /// The kind of memory that it is, for its colour; `None` where it is no kind's.
    pub kind: Option<MemoryKind>,
    /// Its value.
    pub value: FormulaValue,
    /// True if the value is bytes, rather than a count or a time.
    pub bytes: bool,
    /// The formula by which it is worked out, if it has one.
    pub how: Option<Expr>,
}

/// A formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A plain number.
    Number(FormulaValue),
    /// A letter, word or number with a meaning.
    Symbol(Symbol),
    /// A named part, which is explained on a line of its own.
    Part(Box<NamedPart>),
    /// `a + b + …`
    Sum(Vec<Expr>),
    /// `a − b`
    Less(Box<Expr>, Box<Expr>),
    /// `a · b · …`
    Product(Vec<Expr>),
    /// `a / b`
    Quotient(Box<Expr>, Box<Expr>),
    /// `⌈a / b⌉`, rounded up.
    Ceil(Box<Expr>, Box<Expr>),
    /// `⌊a / b⌋`, rounded down.
    Floor(Box<Expr>, Box<Expr>),
    /// `aⁿ`
    Power(Box<Expr>, u32),
    /// `max(a; b; …)`
    Max(Vec<Expr>),
}

impl Expr {
    /// Returns a whole number.
    pub const fn whole(value: u64) -> Self {
        Self::Number(FormulaValue::Whole(value))
    }

    /// Returns a number that need not be whole.
    pub const fn real(value: f64) -> Self {
        Self::Number(FormulaValue::Real(value))
    }

    /// Returns a number written as itself, with a meaning.
    pub fn meant(value: u64, meaning: impl Into<String>) -> Self {
        Self::Symbol(Symbol {
            letter: value.to_string(),
            name: "",
            meaning: meaning.into(),
            value: FormulaValue::Whole(value),
        })
    }

    /// Returns a word that stands for a number.
    pub fn word(word: impl Into<String>, meaning: impl Into<String>, value: FormulaValue) -> Self {
        Self::Symbol(Symbol { letter: word.into(), name: "", meaning: meaning.into(), value })
    }

    /// Returns a named part that is no amount of memory.
    pub fn part(label: impl Into<String>, value: FormulaValue, how: Option<Self>) -> Self {
        Self::Part(Box::new(NamedPart {
            label: label.into(),
            kind: None,
            value,
            bytes: false,
            how,
        }))
    }

    /// Returns a named amount of memory.
    pub fn memory(
        label: impl Into<String>,
        kind: Option<MemoryKind>,
        bytes: u64,
        how: Option<Self>,
    ) -> Self {
        Self::Part(Box::new(NamedPart {
            label: label.into(),
            kind,
            value: FormulaValue::Whole(bytes),
            bytes: true,
            how,
        }))
    }

    /// Returns the product of some factors: products among them are joined, ones are left out,
    /// equal neighbours become a power.
    pub fn product(factors: impl IntoIterator<Item = Self>) -> Self {
        let mut flat: Vec<Self> = Vec::new();
        for factor in factors {
            match factor {
                Self::Product(inner) => flat.extend(inner),
                other if other.is_one() => {}
                other => flat.push(other),
            }
        }
        let mut joined: Vec<Self> = Vec::with_capacity(flat.len());
        for factor in flat {
            // Plain numbers stay apart: `2 · 2` reads better than `2²`.
            let named = |one: &Self| matches!(one, Self::Symbol(symbol) if !symbol.name.is_empty());
            match joined.last_mut() {
                Some(last) if *last == factor && named(&factor) => {
                    *last = Self::Power(Box::new(factor), 2);
                }
                Some(Self::Power(base, exponent)) if **base == factor => *exponent += 1,
                _ => joined.push(factor),
            }
        }
        match joined.len() {
            0 => Self::whole(1),
            1 => joined.remove(0),
            _ => Self::Product(joined),
        }
    }

    /// Returns the sum of some terms: the term itself where there is one, 0 where there is none.
    pub fn sum(terms: impl IntoIterator<Item = Self>) -> Self {
        let mut terms: Vec<Self> = terms.into_iter().collect();
        match terms.len() {
            0 => Self::whole(0),
            1 => terms.remove(0),
            _ => Self::Sum(terms),
        }
    }

    /// Returns `a / b`, exact; `a` itself where `b` is 1.
    #[must_use]
    pub fn over(self, by: Self) -> Self {
        if by.is_one() { self } else { Self::Quotient(Box::new(self), Box::new(by)) }
    }

    /// Returns `⌈a / b⌉`; without the brackets where it divides evenly.
    #[must_use]
    pub fn over_up(self, by: Self) -> Self {
        if by.is_one() {
            return self;
        }
        match (self.exact(), by.exact()) {
            (Some(above), Some(below)) if below > 0 && above.is_multiple_of(below) => {
                Self::Quotient(Box::new(self), Box::new(by))
            }
            _ => Self::Ceil(Box::new(self), Box::new(by)),
        }
    }

    /// True if the formula is the plain number one.
    fn is_one(&self) -> bool {
        matches!(self, Self::Number(FormulaValue::Whole(1)))
    }

    /// Returns the exact value in whole numbers; `None` where a part is not whole, does not divide,
    /// or is too large.
    pub fn exact(&self) -> Option<u128> {
        let pair = |a: &Self, b: &Self| Some((a.exact()?, b.exact().filter(|below| *below > 0)?));
        match self {
            Self::Number(value) | Self::Symbol(Symbol { value, .. }) => exact_value(*value),
            Self::Part(part) => exact_value(part.value),
            Self::Sum(terms) => {
                terms.iter().try_fold(0_u128, |sum, term| sum.checked_add(term.exact()?))
            }
            Self::Less(a, b) => a.exact()?.checked_sub(b.exact()?),
            Self::Product(factors) => factors
                .iter()
                .try_fold(1_u128, |product, factor| product.checked_mul(factor.exact()?)),
            Self::Quotient(a, b) => {
                pair(a, b).and_then(|(a, b)| a.is_multiple_of(b).then_some(a / b))
            }
            Self::Ceil(a, b) => pair(a, b).map(|(a, b)| a.div_ceil(b)),
            Self::Floor(a, b) => pair(a, b).map(|(a, b)| a / b),
            Self::Power(base, exponent) => base.exact()?.checked_pow(*exponent),
            Self::Max(terms) => {
                terms.iter().map(Self::exact).try_fold(0, |most, term| Some(most.max(term?)))
            }
        }
    }

    /// Returns the value as a float.
    pub fn value(&self) -> f64 {
        match self {
            Self::Number(value) | Self::Symbol(Symbol { value, .. }) => value.real(),
            Self::Part(part) => part.value.real(),
            Self::Sum(terms) => terms.iter().map(Self::value).sum(),
            Self::Less(a, b) => a.value() - b.value(),
            Self::Product(factors) => factors.iter().map(Self::value).product(),
            Self::Quotient(a, b) => a.value() / b.value(),
            Self::Ceil(a, b) => (a.value() / b.value()).ceil(),
            Self::Floor(a, b) => (a.value() / b.value()).floor(),
            Self::Power(base, exponent) => (0..*exponent).map(|_| base.value()).product(),
            Self::Max(terms) => terms.iter().map(Self::value).fold(f64::NEG_INFINITY, f64::max),
        }
    }

    /// Returns true if the exact value is that many bytes.
    pub fn comes_to(&self, bytes: u64) -> bool {
        self.exact() == Some(u128::from(bytes))
    }

    /// Returns every named part of the formula, outermost first, once each.
    pub fn parts(&self) -> Vec<&NamedPart> {
        let mut found = Vec::new();
        self.visit(&mut |expr| {
            if let Self::Part(part) = expr
                && !found.contains(&&**part)
            {
                found.push(&**part);
            }
        });
        found
    }

    /// Returns every symbol of the formula and of the formulas of its parts that has a name or a
    /// word, once each.
    pub fn symbols(&self) -> Vec<&Symbol> {
        let mut found: Vec<&Symbol> = Vec::new();
        self.visit(&mut |expr| {
            if let Self::Symbol(symbol) = expr
                && found
                    .iter()
                    .all(|known| known.letter != symbol.letter || known.meaning != symbol.meaning)
            {
                found.push(symbol);
            }
        });
        found
    }

    /// Calls back with every node, formulas of parts included.
    fn visit<'a>(&'a self, found: &mut impl FnMut(&'a Self)) {
        found(self);
        match self {
            Self::Number(_) | Self::Symbol(_) => {}
            Self::Part(part) => {
                if let Some(how) = &part.how {
                    how.visit(found);
                }
            }
            Self::Sum(all) | Self::Product(all) | Self::Max(all) => {
                for one in all {
                    one.visit(found);
                }
            }
            Self::Less(a, b) | Self::Quotient(a, b) | Self::Ceil(a, b) | Self::Floor(a, b) => {
                a.visit(found);
                b.visit(found);
            }
            Self::Power(base, _) => base.visit(found),
        }
    }
}

fn exact_value(value: FormulaValue) -> Option<u128> {
    match value {
        FormulaValue::Whole(value) => Some(u128::from(value)),
        FormulaValue::Real(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Expr, FormulaValue};

    fn named(letter: &str, value: u64) -> Expr {
        let name = "a name";
        Expr::Symbol(super::Symbol {
            letter: letter.to_owned(),
            name,
            meaning: String::new(),
            value: FormulaValue::Whole(value),
        })
    }

    #[test]
    fn equal_inputs_side_by_side_become_a_power() {
        let square = Expr::product([
            Expr::whole(1),
            named("s", 8),
            named("s", 8),
            named("s", 8),
            Expr::whole(2),
        ]);
        assert_eq!(
            square,
            Expr::Product(vec![Expr::Power(Box::new(named("s", 8)), 3), Expr::whole(2)])
        );
        assert_eq!(square.exact(), Some(1024));
        assert_eq!(Expr::product([Expr::whole(1)]), Expr::whole(1));
    }

    #[test]
    fn divisions_are_exact_or_say_how_they_round() {
        assert_eq!(Expr::whole(7).over(Expr::whole(2)).exact(), None);
        assert_eq!(Expr::whole(7).over_up(Expr::whole(2)).exact(), Some(4));
        assert!(matches!(Expr::whole(8).over_up(Expr::whole(2)), Expr::Quotient(..)));
        assert_eq!(
            Expr::Floor(Box::new(Expr::whole(7)), Box::new(Expr::whole(2))).exact(),
            Some(3)
        );
        assert_eq!(Expr::whole(7).over_up(Expr::whole(0)).exact(), None);
    }

    #[test]
    fn what_is_too_large_has_no_value_instead_of_a_wrong_one() {
        assert_eq!(
            Expr::product([Expr::whole(u64::MAX), Expr::whole(u64::MAX), Expr::whole(3)]).exact(),
            None
        );
        assert!(!Expr::whole(3).comes_to(4));
    }
}
