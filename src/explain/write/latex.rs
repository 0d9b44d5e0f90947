//! LaTeX, for papers and slides.

use super::super::Explanation;
use super::super::expr::{Expr, FormulaValue, Symbol};
use super::text::is_itself;
use super::{Form, WrittenFormula, number, tightness};
use crate::units::MemoryUnit;

/// Returns an explanation's formulas as an `align*` of LaTeX (amsmath): letters, numbers, result.
pub fn latex(explanation: &Explanation, unit: MemoryUnit) -> String {
    let mut lines = Vec::new();
    for WrittenFormula { label, expr, result } in explanation.written(unit) {
        let head = if label.is_empty() { &explanation.title } else { label };
        if is_itself(expr) {
            lines.push(format!("{} &= {}", words(head), words(&result)));
            continue;
        }
        lines.push(format!("{} &= {}", words(head), written(expr, Form::Symbols)));
        lines.push(format!("  &= {}", written(expr, Form::Numbers)));
        lines.push(format!("  &= {}", words(&result)));
    }
    format!("\\begin{{align*}}\n{}\n\\end{{align*}}", lines.join(" \\\\\n"))
}

fn written(expr: &Expr, form: Form) -> String {
    let mut out = String::new();
    add(&mut out, expr, form);
    out
}

/// Words and units, upright, with the characters escaped that mean something to LaTeX.
fn words(text: &str) -> String {
    let mut out = String::from("\\text{");
    for letter in text.chars() {
        match letter {
            '\u{202f}' => out.push_str("\\,"),
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
    }
    out + "}"
}

fn digits(value: FormulaValue) -> String {
    number(value).replace('\u{202f}', "\\,")
}

fn add(out: &mut String, expr: &Expr, form: Form) {
    match expr {
        Expr::Number(value) => out.push_str(&digits(*value)),
        Expr::Symbol(Symbol { letter, value, .. }) => {
            let is_number = letter.chars().all(|digit| digit.is_ascii_digit());
            match (form, letter.split_once('_')) {
                (Form::Symbols, _) if letter.chars().count() == 1 && !is_number => {
                    out.push_str(letter);
                }
                (Form::Symbols, Some((letter, below))) if letter.len() == 1 && below.len() == 1 => {
                    out.extend([letter, "_{", below, "}"]);
                }
                (Form::Symbols, _) if !is_number => out.push_str(&words(letter)),
                _ => out.push_str(&digits(*value)),
            }
        }
        Expr::Part(part) => match form {
            Form::Symbols => out.push_str(&words(&part.label)),
            Form::Numbers => out.push_str(&digits(part.value)),
        },
        Expr::Sum(terms) => list(out, terms, " + ", form),
        Expr::Less(a, b) => {
            add(out, a, form);
            out.push_str(" - ");
            within(out, b, form, 1);
        }
        Expr::Product(factors) => list(out, factors, " \\cdot ", form),
        Expr::Quotient(a, b) => fraction(out, (a, b), form),
        Expr::Ceil(a, b) => rounded(out, (a, b), form, "ceil"),
        Expr::Floor(a, b) => rounded(out, (a, b), form, "floor"),
        Expr::Power(base, exponent) => {
            within(out, base, form, 2);
            out.extend(["^{", &exponent.to_string(), "}"]);
        }
        Expr::Max(terms) => {
            out.push_str("\\max\\left(");
            for (at, term) in terms.iter().enumerate() {
                out.push_str(if at > 0 { ",\\; " } else { "" });
                add(out, term, form);
            }
            out.push_str("\\right)");
        }
    }
}

fn list(out: &mut String, terms: &[Expr], between: &str, form: Form) {
    for (at, term) in terms.iter().enumerate() {
        out.push_str(if at > 0 { between } else { "" });
        within(out, term, form, 1);
    }
}

fn within(out: &mut String, expr: &Expr, form: Form, least: u8) {
    // A fraction needs no brackets: its bar holds it together.
    let loose = tightness(expr) < least && !matches!(expr, Expr::Quotient(..));
    out.push_str(if loose { "\\left(" } else { "" });
    add(out, expr, form);
    out.push_str(if loose { "\\right)" } else { "" });
}

fn fraction(out: &mut String, (above, below): (&Expr, &Expr), form: Form) {
    out.push_str("\\frac{");
    add(out, above, form);
    out.push_str("}{");
    add(out, below, form);
    out.push('}');
}

fn rounded(out: &mut String, pair: (&Expr, &Expr), form: Form, bracket: &str) {
    out.extend(["\\left\\l", bracket, " "]);
    fraction(out, pair, form);
    out.extend([" \\right\\r", bracket]);
}
