//! The documents' formulas with a scenario's numbers put in for the letters.

use crate::methods::{
    MethodAnswer, MethodInputs, MethodKind, MethodLine, distributed_overview, eleuther, ju_2026,
    solenya,
};
use crate::units::{Bytes, DType, Elements, grouped, to_f64};

/// A letter of a document with what it stands for here.
type Symbol = (&'static str, String);

/// The formula of one line in numbers; equal to the formula itself where it has no letters.
///
/// Everything is in bytes, so that the result can be worked out by hand: `2N / N_gpu` becomes `2·8
/// 030 261 248 / 8`.
pub fn with_numbers(inputs: &MethodInputs, answer: &MethodAnswer, line: &MethodLine) -> String {
    let symbols = symbols(inputs, answer.id, line.kind);
    let mut out = substituted(&line.formula, &symbols);
    // Two formulas use words for a quantity.
    if out.contains(SUM_ABOVE) {
        let above = answer
            .per_gpu
            .iter()
            .take_while(|other| other.kind != line.kind)
            .map(|other| other.bytes)
            .sum::<Bytes>();
        out = out.replace(SUM_ABOVE, &whole(above.0));
    }
    out.replace(
        LIVE_PARAMETERS,
        &whole(eleuther::DEFAULT_LIVE_PARAMETERS.min(inputs.num_parameters)),
    )
}

const SUM_ABOVE: &str = "the sum above";
const LIVE_PARAMETERS: &str = "live parameters";

/// The formula with every letter that is known replaced; a factor written before a letter gets its
/// multiplication sign.
fn substituted(formula: &str, symbols: &[Symbol]) -> String {
    let mut out = String::with_capacity(formula.len() * 3);
    let mut rest = formula;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !is_of_name(c)).unwrap_or(rest.len());
        if end == 0 || first.is_ascii_digit() {
            let step = if first.is_ascii_digit() { number_end(rest) } else { first.len_utf8() };
            let (taken, after) = rest.split_at(step);
            out.push_str(taken);
            rest = after;
            continue;
        }
        let (name, after) = rest.split_at(end);
        match symbols.iter().find(|(symbol, _)| *symbol == name) {
            Some((_, value)) => {
                if out.ends_with(|c: char| c.is_ascii_digit()) {
                    out.push('·');
                }
                out.push_str(value);
            }
            None => out.push_str(name),
        }
        rest = after;
    }
    out
}

const fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn number_end(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

fn whole(count: u64) -> String {
    grouped(to_f64(count), 0)
}

/// Bytes of one number in that format: 2, 1, 0.5.
fn width(dtype: DType) -> String {
    let bits = dtype.bits();
    grouped(to_f64(bits) / 8.0, usize::from(!bits.is_multiple_of(8)))
}

/// The values of a document's letters in this scenario. Letters mean different things in different
/// documents.
fn symbols(inputs: &MethodInputs, document: &str, kind: MethodKind) -> Vec<Symbol> {
    let number = |name, count| (name, whole(count));
    let mut symbols = vec![
        number("h", inputs.hidden_size),
        number("L", inputs.num_hidden_layers),
        number("a", inputs.num_attention_heads),
        number("s", inputs.seq_length),
        number("b", inputs.micro_batch_size),
        number("t", inputs.tensor_model_parallel_size),
        number("p", inputs.pipeline_model_parallel_size),
        number("d", inputs.data_parallel_size),
        number("d_ff", inputs.intermediate_size),
        number("n_kv", inputs.num_key_value_heads),
        number("head_dim", inputs.head_dim),
        number("N_gpu", inputs.world_size()),
        number("GPUs", inputs.world_size()),
        number("B", inputs.global_batch_size),
        number("P", inputs.num_parameters),
    ];
    let shape = inputs.shape(inputs.micro_batch_size);
    match document {
        "ju-2026" => {
            let counted = ju_2026::num_parameters(&shape, inputs.vocab_size);
            symbols.push(number("N", ju_2026::parameters_used(counted)));
        }
        "eleuther" => symbols.extend(eleuther_states(inputs)),
        "capacity-planning" => {
            let cached = !inputs.is_training() && kind != MethodKind::Weights;
            symbols.push((
                "bytes",
                width(if cached { inputs.kv_cache_dtype } else { inputs.weight_dtype }),
            ));
            symbols.push(number("N", inputs.data_parallel_size));
        }
        "distributed-overview" => {
            let (h, layers, v) = (inputs.hidden_size, inputs.num_hidden_layers, inputs.vocab_size);
            symbols.push(number("N", distributed_overview::num_parameters(h, layers, v)));
        }
        "solenya" => symbols.push(number("N", solenya::num_parameters(&shape, inputs.vocab_size))),
        _ => {}
    }
    symbols
}

/// Weights, gradients and optimizer of the whole model, which this document writes as W, G and O.
fn eleuther_states(inputs: &MethodInputs) -> Vec<Symbol> {
    if !inputs.is_training() {
        let weights = Elements(inputs.num_parameters).stored_as(inputs.weight_dtype);
        return vec![("W", whole(weights.0))];
    }
    let gradient = inputs.precision.recipe(inputs.gradients).gradient;
    let optimizer = eleuther::optimizer_bytes_per_parameter(inputs.optimizer).unwrap_or(12);
    let states = eleuther::states(inputs.num_parameters, inputs.weight_dtype, gradient, optimizer);
    vec![
        ("W", whole(states.weights.0)),
        ("G", whole(states.gradients.0)),
        ("O", whole(states.optimizer.0)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::MemoryUnit;
    use crate::view::side::{Side, scenarios};

    #[test]
    fn letters_become_numbers_and_words_stay() {
        let symbols = [("h", "4096".to_owned()), ("N", "7".to_owned()), ("N_gpu", "8".to_owned())];
        assert_eq!(substituted("2N / N_gpu", &symbols), "2·7 / 8");
        assert_eq!(substituted("2·(12h² + 13h)", &symbols), "2·(12·4096² + 13·4096)");
        assert_eq!(substituted("about 2 GB", &symbols), "about 2 GB");
        assert_eq!(substituted("", &symbols), "");
    }

    /// A sum of products with brackets and squares, as the documents write them.
    struct Reader<'a>(&'a str);

    impl Reader<'_> {
        fn eat(&mut self, wanted: char) -> bool {
            self.0 = self.0.trim_start();
            let found = self.0.strip_prefix(wanted);
            self.0 = found.unwrap_or(self.0);
            found.is_some()
        }

        fn sum(&mut self) -> f64 {
            let mut value = self.product();
            while self.eat('+') {
                value += self.product();
            }
            value
        }

        fn product(&mut self) -> f64 {
            let mut value = self.factor();
            loop {
                if self.eat('·') {
                    value *= self.factor();
                } else if self.eat('/') {
                    value /= self.factor();
                } else {
                    return value;
                }
            }
        }

        fn factor(&mut self) -> f64 {
            let value = if self.eat('(') {
                let value = self.sum();
                assert!(self.eat(')'), "a bracket is open before {:?}", self.0);
                value
            } else {
                let end = self
                    .0
                    .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '\u{202f}'))
                    .unwrap_or(self.0.len());
                let (digits, rest) = self.0.split_at(end);
                self.0 = rest;
                digits
                    .replace('\u{202f}', "")
                    .parse()
                    .unwrap_or_else(|_| panic!("no number at {:?}", self.0))
            };
            if self.eat('²') { value * value } else { value }
        }
    }

    #[test]
    fn every_formula_in_numbers_gives_the_bytes_beside_it() {
        let mut checked = 0;
        for job in scenarios() {
            let side = Side::of(&job, &crate::estimator::estimate(&job), MemoryUnit::Gib);
            for answer in &side.answers {
                for line in answer.per_gpu.iter().filter(|line| line.formula != "about 2 GB") {
                    let numbers = with_numbers(&side.inputs, answer, line);
                    let mut reader = Reader(&numbers);
                    let value = reader.sum();
                    assert!(
                        reader.0.is_empty(),
                        "{}: {numbers} stops before {:?}",
                        answer.id,
                        reader.0
                    );
                    let gap = (value - line.bytes.as_f64()).abs();
                    assert!(
                        gap <= 2.0 + 1e-9 * value,
                        "{}: {} = {numbers} = {value}, not {:?}",
                        answer.id,
                        line.formula,
                        line.bytes
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 100, "{checked}");
    }
}
