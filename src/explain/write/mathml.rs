//! Presentation MathML, which browsers draw and screen readers read without a library.

use super::super::expr::{Expr, NamedPart, Symbol};
use super::text::{numbers, symbols};
use super::{Form, number, tightness};

/// Returns a formula as a `math` element of MathML.
///
/// Letters and numbers carry their meaning as `title`, parts of memory their kind as `data-kind`;
/// `alttext` gives the formula in plain text.
pub fn mathml(expr: &Expr, form: Form) -> String {
    let plain = match form {
        Form::Symbols => symbols(expr),
        Form::Numbers => numbers(expr),
    };
    let mut out = format!("<math alttext=\"{}\">", escaped(&plain));
    row(&mut out, expr, form);
    out + "</math>"
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// One token: its tag, its meaning, its kind of memory, its text.
fn token(out: &mut String, tag: &str, title: &str, kind: Option<usize>, text: &str) {
    out.push('<');
    out.push_str(tag);
    if !title.is_empty() {
        out.extend([" title=\"", &escaped(title), "\""]);
    }
    if let Some(kind) = kind {
        out.extend([" data-kind=\"", &kind.to_string(), "\""]);
    }
    out.extend([">", &escaped(text), "</", tag, ">"]);
}

fn sign(out: &mut String, sign: &str) {
    // Between words a browser cannot tell that an operator stands between two terms, so the form is
    // stated.
    let infix = if matches!(sign, "+" | "−" | "·") { " form=\"infix\"" } else { "" };
    out.extend(["<mo", infix, ">", sign, "</mo>"]);
}

fn row(out: &mut String, expr: &Expr, form: Form) {
    out.push_str("<mrow>");
    add(out, expr, form);
    out.push_str("</mrow>");
}

fn add(out: &mut String, expr: &Expr, form: Form) {
    match expr {
        Expr::Number(value) => token(out, "mn", "", None, &number(*value)),
        Expr::Symbol(symbol) => letter(out, symbol, form),
        Expr::Part(part) => named(out, part, form),
        Expr::Sum(terms) => list(out, terms, "+", form),
        Expr::Less(a, b) => {
            add(out, a, form);
            sign(out, "−");
            within(out, b, form, 1);
        }
        Expr::Product(factors) => list(out, factors, "·", form),
        Expr::Quotient(a, b) => fraction(out, (a, b), form),
        Expr::Ceil(a, b) => rounded(out, (a, b), form, ["⌈", "⌉"]),
        Expr::Floor(a, b) => rounded(out, (a, b), form, ["⌊", "⌋"]),
        Expr::Power(base, exponent) => {
            out.push_str("<msup><mrow>");
            within(out, base, form, 2);
            out.extend(["</mrow><mn>", &exponent.to_string(), "</mn></msup>"]);
        }
        Expr::Max(terms) => {
            out.push_str("<mi>max</mi>");
            sign(out, "(");
            for (at, term) in terms.iter().enumerate() {
                if at > 0 {
                    sign(out, ";");
                }
                add(out, term, form);
            }
            sign(out, ")");
        }
    }
}

fn letter(out: &mut String, symbol: &Symbol, form: Form) {
    let title = match (symbol.name, symbol.meaning.as_str()) {
        ("", meaning) => meaning.to_owned(),
        (name, meaning) => format!("{name}: {meaning}"),
    };
    if form == Form::Numbers || symbol.letter.chars().all(|digit| digit.is_ascii_digit()) {
        return token(out, "mn", &title, None, &number(symbol.value));
    }
    match symbol.letter.split_once('_') {
        Some((letter, below)) if letter.len() == 1 && below.len() == 1 => {
            out.extend([
                "<msub title=\"",
                &escaped(&title),
                "\"><mi>",
                letter,
                "</mi><mi>",
                below,
                "</mi></msub>",
            ]);
        }
        _ if symbol.letter.chars().count() == 1 => token(out, "mi", &title, None, &symbol.letter),
        _ => token(out, "mtext", &title, None, &symbol.letter),
    }
}

fn named(out: &mut String, part: &NamedPart, form: Form) {
    let kind = part.kind.map(crate::estimator::MemoryKind::index);
    match form {
        Form::Symbols => token(out, "mtext", "", kind, &part.label),
        Form::Numbers => token(out, "mn", &part.label, kind, &number(part.value)),
    }
}

fn list(out: &mut String, terms: &[Expr], between: &str, form: Form) {
    for (at, term) in terms.iter().enumerate() {
        if at > 0 {
            sign(out, between);
        }
        within(out, term, form, 1);
    }
}

/// A formula, in brackets if its tightness is below `least`; a fraction's bar holds it together.
fn within(out: &mut String, expr: &Expr, form: Form, least: u8) {
    let loose = tightness(expr) < least && !matches!(expr, Expr::Quotient(..));
    if loose {
        sign(out, "(");
    }
    add(out, expr, form);
    if loose {
        sign(out, ")");
    }
}

fn fraction(out: &mut String, (above, below): (&Expr, &Expr), form: Form) {
    out.push_str("<mfrac>");
    row(out, above, form);
    row(out, below, form);
    out.push_str("</mfrac>");
}

fn rounded(out: &mut String, pair: (&Expr, &Expr), form: Form, [open, close]: [&str; 2]) {
    sign(out, open);
    fraction(out, pair, form);
    sign(out, close);
}
