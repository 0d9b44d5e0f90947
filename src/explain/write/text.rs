//! Plain text, as it is copied and as the command line prints it.

use super::super::expr::{Expr, Symbol};
use super::super::{Explanation, LargestTensors, Said, growth_sentence};
use super::{Form, WrittenFormula, number, result_of, tightness, whole};
use crate::estimator::Certainty;
use crate::sources::Source;
use crate::units::MemoryUnit;

/// Returns a formula in letters.
pub fn symbols(expr: &Expr) -> String {
    let mut out = String::new();
    add(&mut out, expr, Form::Symbols);
    out
}

/// Returns a formula with numbers: sums, products, `/`, rounded brackets, powers, `max`.
pub fn numbers(expr: &Expr) -> String {
    let mut out = String::new();
    add(&mut out, expr, Form::Numbers);
    out
}

fn add(out: &mut String, expr: &Expr, form: Form) {
    match expr {
        Expr::Number(value) => out.push_str(&number(*value)),
        Expr::Symbol(Symbol { letter, value, .. }) => match form {
            Form::Symbols if letter.chars().all(|digit| digit.is_ascii_digit()) => {
                out.push_str(&number(*value));
            }
            Form::Symbols => out.push_str(letter),
            Form::Numbers => out.push_str(&number(*value)),
        },
        Expr::Part(part) => match form {
            Form::Symbols => out.push_str(&part.label),
            Form::Numbers => out.push_str(&number(part.value)),
        },
        Expr::Sum(terms) => list(out, terms, " + ", form, 1),
        Expr::Less(a, b) => {
            within(out, a, form, 0);
            out.push_str(" − ");
            within(out, b, form, 1);
        }
        Expr::Product(factors) => list(out, factors, " · ", form, 1),
        Expr::Quotient(a, b) => fraction(out, a, b, form),
        Expr::Ceil(a, b) => rounded(out, (a, b), form, ["⌈", "⌉"]),
        Expr::Floor(a, b) => rounded(out, (a, b), form, ["⌊", "⌋"]),
        Expr::Power(base, exponent) => {
            within(out, base, form, 2);
            let raised = exponent.to_string();
            out.extend(raised.chars().filter_map(|digit| {
                "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(usize::try_from(digit.to_digit(10)?).ok()?)
            }));
        }
        Expr::Max(terms) => {
            out.push_str("max(");
            list(out, terms, "; ", form, 0);
            out.push(')');
        }
    }
}

fn list(out: &mut String, terms: &[Expr], between: &str, form: Form, least: u8) {
    for (at, term) in terms.iter().enumerate() {
        if at > 0 {
            out.push_str(between);
        }
        // A quotient among factors is bracketed: `2 · (a / b)`.
        let tight = if between == " · " { 2 } else { least };
        within(
            out,
            term,
            form,
            if matches!(term, Expr::Sum(_) | Expr::Less(..)) { least } else { tight.min(2) },
        );
    }
}

/// A formula, in brackets if its tightness is below `least`.
fn within(out: &mut String, expr: &Expr, form: Form, least: u8) {
    let loose = tightness(expr) < least;
    if loose {
        out.push('(');
    }
    add(out, expr, form);
    if loose {
        out.push(')');
    }
}

fn fraction(out: &mut String, above: &Expr, below: &Expr, form: Form) {
    within(out, above, form, 1);
    out.push_str(" / ");
    within(out, below, form, 2);
}

fn rounded(out: &mut String, (above, below): (&Expr, &Expr), form: Form, [open, close]: [&str; 2]) {
    out.push_str(open);
    fraction(out, above, below, form);
    out.push_str(close);
}

/// Returns an explanation as plain text, amounts in `unit`.
///
/// ```
/// use headroom::explain::{Explainer, text};
/// use headroom::scenario::codec::decode;
/// use headroom::units::MemoryUnit;
///
/// let job = decode("v2&m=llama3-8b&n=8").scenario.resolve().map_err(|problems| problems.len())?;
/// let explainer = Explainer::new(&job, &[], MemoryUnit::Gib);
/// let weights = explainer.explained("ledger/Weights").expect("every job has weights");
/// assert!(text(&weights, MemoryUnit::Gib).contains("bytes"));
/// # Ok::<(), usize>(())
/// ```
pub fn text(explanation: &Explanation, unit: MemoryUnit) -> String {
    let mut out = vec![
        format!("{}: {}", explanation.title, explanation.result(unit)),
        explanation.sentence.clone(),
        String::new(),
    ];
    for WrittenFormula { label, expr, result } in explanation.written(unit) {
        if is_itself(expr) {
            continue;
        }
        let head = if label.is_empty() { &explanation.title } else { label };
        out.push(format!("{head} = {}", symbols(expr)));
        out.push(format!("  = {}", numbers(expr)));
        out.push(format!("  = {result}"));
    }
    out.extend(legend(explanation).into_iter().map(|(letter, meaning, value)| {
        let is = if value.is_empty() { String::new() } else { format!(" = {value}") };
        format!("  {letter}{is}: {meaning}")
    }));
    if let Some(largest) = &explanation.largest {
        out.push(stands_out(largest, unit));
    }
    out.extend(explanation.notes.iter().cloned());
    out.push(String::new());
    out.extend(closing(explanation, unit));
    out.join("\n")
}

/// Returns true if a formula is nothing but the figure.
pub fn is_itself(expr: &Expr) -> bool {
    matches!(expr, Expr::Part(part) if part.how.is_none())
}

/// The largest tensors as a sentence with their formula.
fn stands_out(largest: &LargestTensors, unit: MemoryUnit) -> String {
    let times = if largest.count == 1 {
        String::new()
    } else {
        format!(", {} times", whole(u128::from(largest.count)))
    };
    format!(
        "Most of it: {} = {} = {} = {}{times}.",
        largest.names,
        symbols(&largest.one),
        numbers(&largest.one),
        result_of(&largest.one, unit)
    )
}

/// Returns the meaning of letters and words in a formula: letter, meaning, value.
pub fn legend(explanation: &Explanation) -> Vec<(String, String, String)> {
    let mut all: Vec<&Symbol> = explanation.expr.symbols();
    if let Some(largest) = &explanation.largest {
        for symbol in largest.one.symbols() {
            if !all.contains(&symbol) {
                all.push(symbol);
            }
        }
    }
    let is_number = |symbol: &Symbol| symbol.letter.chars().all(|digit| digit.is_ascii_digit());
    let mut rows: Vec<(String, String, String)> = Vec::with_capacity(all.len());
    for symbol in all {
        let meaning = match (symbol.name, symbol.meaning.as_str()) {
            ("", meaning) => meaning.to_owned(),
            (name, meaning) => format!("{name}, {meaning}"),
        };
        let is_own_name = meaning == symbol.letter;
        if is_own_name && is_number(symbol) {
            continue;
        }
        let meaning = if is_own_name { "a dimension of its shape".to_owned() } else { meaning };
        let value = if is_number(symbol) { String::new() } else { number(symbol.value) };
        let row = (number_or(symbol), meaning, value);
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

fn number_or(symbol: &Symbol) -> String {
    if symbol.letter.chars().all(|digit| digit.is_ascii_digit()) {
        number(symbol.value)
    } else {
        symbol.letter.clone()
    }
}

/// Source, growth and documents, a sentence each.
fn closing(explanation: &Explanation, unit: MemoryUnit) -> Vec<String> {
    let mut out: Vec<String> = explanation.sources.iter().map(source_words).collect();
    let growth = growth_sentence(&explanation.growth);
    if !growth.is_empty() {
        out.push(growth);
    }
    out.extend(explanation.documents.iter().map(|said| document_words(said, unit)));
    out
}

/// Returns the source of a figure in one sentence: the part that it covers, its certainty, who,
/// title and place.
pub fn source_words((source, certainty, of): &(Source, Certainty, &str)) -> String {
    let of = if of.is_empty() { String::new() } else { format!("{of}, ") };
    format!(
        "From: {of}{} ({}, {}; {}).",
        certainty.word(),
        source.who,
        source.title(),
        source.locator
    )
}

/// Returns a document's figure in one sentence.
pub fn document_words(said: &Said, unit: MemoryUnit) -> String {
    let amount = said.bytes.map_or_else(
        || "does not count it".to_owned(),
        |bytes| format!("says {}", unit.show(bytes)),
    );
    let formula =
        if said.formula.is_empty() { String::new() } else { format!(" ({})", said.formula) };
    let why = if said.why.is_empty() { ".".to_owned() } else { format!(": {}", said.why) };
    format!("{} {amount}{formula}{why}", said.title)
}
