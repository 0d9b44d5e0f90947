//! Matrices of heads in chunks of tokens (`mlstm_chunkwise_native_autograd` in
//! `models/xlstm/modeling_xlstm.py`): states are taken from chunk to chunk and written into one
//! tensor, then each chunk is computed at once. A text that is no whole number of chunks is taken
//! for the next one: the library refuses it in training, and takes its last tokens one by one in
//! its mode for inference.

use super::super::Build;
use super::super::state::Sizes;
use super::turns::turns;
use crate::config::Mixer;
use crate::ops::tape::{EXP, Form, LOG_SIGMOID, RUNNING_SUM, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// Queries and keys `[b, n, s, r]`, values `[b, n, s, p]`, gates of the input and of what is
/// forgotten `[b, n, s]`.
pub(super) type Operands<'a, 't> = [&'a Var<'t>; 5];

/// Shapes of what is taken from chunk to chunk: matrices, sums of keys, and largest exponents.
#[derive(Clone, Copy, Debug)]
struct States {
    /// Of one chunk: `[b, n, r, p]`, `[b, n, r]` and `[b, n]`.
    one: [Form; 3],
    /// Of all chunks, and of the end behind the last.
    all: [Form; 3],
    /// Of the starts of all chunks.
    starts: [Form; 3],
}

/// The rule over one layer's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrices {
    chunks: u64,
    states: States,
    /// `[bn, l, r]` and `[bn, l, p]` of one chunk, `[b, n, l]` and `[b, n]`.
    one: [Form; 4],
    /// `[bnc, l, r]`, `[bnc, l, p]`, `[b, n, c, l]` and `[b, n, c]` of all.
    each: [Form; 4],
    /// `[bnc, r, p]` and `[bnc, r, 1]`: states at the starts.
    starts: [Form; 2],
    /// `[bnc, l, l]`, and the mask of the tokens that a token of the chunk sees.
    pairs: [Form; 2],
    /// A number.
    number: Form,
    /// True if products copy their operands: chunks of all heads, one chunk, and states at the
    /// starts.
    copies: [bool; 3],
}

impl Matrices {
    pub fn new(build: &Build<'_>, sizes: &Sizes, mixer: &Mixer) -> Self {
        let (sequences, tokens, own, tape) =
            (build.with.b(), build.with.s(), sizes.heads, build.tape);
        let length = mixer.chunk_size.clamp(1, tokens.1.max(1));
        let chunks = tokens.1.div_ceil(length).max(1);
        let (size, more) =
            (Dim("tokens of a chunk", length), Dim("chunks and one", chunks.saturating_add(1)));
        let heads = Dim("heads of all sequences", sequences.1.saturating_mul(own.1));
        let all = Dim("heads of all chunks", heads.1.saturating_mul(chunks));
        let (width, head, one) = (sizes.state, sizes.head, Dim("one", 1));
        let states = |count: &[Dim]| match *count {
            [] => [
                tape.form([sequences, own, width, head]),
                tape.form([sequences, own, width]),
                tape.form([sequences, own]),
            ],
            [count, ..] => [
                tape.form([heads, count, width, head]),
                tape.form([heads, count, width]),
                tape.form([heads, count]),
            ],
        };
        let count = Dim("chunks", chunks);
        Self {
            chunks,
            states: States { one: states(&[]), all: states(&[more]), starts: states(&[count]) },
            one: [
                tape.form([heads, size, width]),
                tape.form([heads, size, head]),
                tape.form([sequences, own, size]),
                tape.form([sequences, own]),
            ],
            each: [
                tape.form([all, size, width]),
                tape.form([all, size, head]),
                tape.form([sequences, own, count, size]),
                tape.form([sequences, own, count]),
            ],
            starts: [tape.form([all, width, head]), tape.form([all, width, one])],
            pairs: [
                tape.form([all, size, Dim("tokens that each sees", length)]),
                tape.form([size, size]),
            ],
            number: tape.form([one]),
            copies: [
                own.1 > 1 && (sequences.1 > 1 || chunks > 1),
                own.1 > 1 && sequences.1 > 1,
                chunks > 1 && heads.1 > 1,
            ],
        }
    }

    /// Runs the rule and returns the values that the queries read, `[b, n, s, p]`. States of all
    /// chunks go to `held`.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        [query, key, value, input, forget]: Operands<'_, 't>,
        held: &mut Vec<Var<'t>>,
    ) -> Var<'t> {
        let [_, _, numbers, _] = self.each;
        let (input, forget) = (input.clone().view(numbers), forget.clone().view(numbers));
        let forgotten = forget.clone().apply(LOG_SIGMOID).named("logarithms of what stays");
        if !tape.is_cuda() {
            // The CPU's kernel keeps what it exponentiates.
            forgotten.saves(&tape.constant("exponentials", numbers, forgotten.dtype()));
        }
        let sums = forgotten.clone().apply(RUNNING_SUM).named("decays of a chunk");
        let states = self.between(tape, [key, value, &input, &sums]);
        let seen = self.within(tape, [query, key, value, &input, &sums], &states);
        held.extend(states);
        seen
    }

    /// The states at the start of each chunk, and behind the last.
    fn between<'t>(
        &self,
        tape: &'t Tape,
        [key, value, input, sums]: [&Var<'t>; 4],
    ) -> [Var<'t>; 3] {
        let format = key.dtype();
        let zeros = |forms: [Form; 3]| forms.map(|form| tape.constant("states", form, format));
        let mut all = zeros(self.states.all);
        let mut now = zeros(self.states.one);
        let [_, _, numbers, ends] = self.each;
        let [_, _, own, one] = self.one;
        let store = |all: [Var<'t>; 3], now: &[Var<'t>; 3]| {
            let [matrices, keys, largest] = all;
            [matrices.fill(&now[0]), keys.fill(&now[1]), largest.fill(&now[2])]
        };
        let gates = sums
            .clone()
            .slice(ends)
            .less(sums.clone(), numbers)
            .add(input.clone())
            .named("gates to the end");
        let last = sums.clone().slice(ends);
        let (largest, places) = gates.clone().topk(ends);
        drop(places);
        for count in turns(self.chunks) {
            all = store(all, &now);
            let [matrix, keys, before] = now;
            let (peak, decay) = (largest.clone().slice(one), last.clone().slice(one));
            let top = decay.clone().add(before.clone()).maximum(&peak);
            let gate = gates
                .clone()
                .slice(own)
                .less(top.clone(), own)
                .apply(EXP)
                .named("gates of a chunk");
            let written = key.clone().slice(self.one[0]).mul(gate.clone()).named("gated keys");
            let stays = decay.add(before).sub(top.clone()).apply(EXP).named("decay of a chunk");
            let copied = |x: &Var<'t>| if self.copies[1] { x.clone().copy() } else { x.clone() };
            let faded = stays.clone().outer(matrix.clone(), self.states.one[0]);
            let product = copied(&written)
                .matrices_of_columns(copied(&value.clone().slice(self.one[1])), self.states.one[0]);
            let next = faded.add(product.view(self.states.one[0])).named("matrices of heads");
            if count > 1 {
                self.keeps_more(tape, &next, count, format);
            }
            let sum = stays
                .clone()
                .outer(keys.clone(), self.states.one[1])
                .add(written.clone().total(self.states.one[1]));
            now = [next, sum.named("sums of keys"), top.named("largest exponents")];
        }
        store(all, &now)
    }

    /// Counts the tensors that further chunks of a turn save, and their products. The tensors are
    /// states, gated keys, values where these are copied, and numbers of each token and each head.
    fn keeps_more(&self, tape: &Tape, next: &Var<'_>, count: u64, format: DType) {
        let elements = |form| tape.elements(form);
        let values = if self.copies[1] { elements(self.one[1]) } else { 0 };
        let states = elements(self.states.one[0]).saturating_add(elements(self.states.one[1]));
        let each = states
            .saturating_add(elements(self.one[0]))
            .saturating_add(values)
            .saturating_add(elements(self.one[2]));
        let each = each.saturating_add(elements(self.one[3]).saturating_mul(2));
        let all = tape.form([Dim("columns of further chunks", each.saturating_mul(count - 1))]);
        next.saves(&tape.constant("states of several chunks", all, format));
        let products = elements(self.states.one[0]).saturating_mul(count - 1);
        let depth = elements(self.one[2]) / elements(self.one[3]).max(1);
        tape.count_product(tape.form([Dim("columns of further chunks", products)]), depth);
    }

    /// Each chunk by its own tokens, and by the state at its start.
    fn within<'t>(
        &self,
        tape: &'t Tape,
        [query, key, value, input, sums]: Operands<'_, 't>,
        states: &[Var<'t>; 3],
    ) -> Var<'t> {
        let [keys_form, values_form, numbers, ends] = self.each;
        let [pairs, square] = self.pairs;
        let starts =
            |at: usize| states.get(at).map(|all| all.clone().slice(self.states.starts[at]));
        let [matrix, of_keys, largest] =
            [0, 1, 2].map(|at| starts(at).unwrap_or_else(|| query.clone()));
        let (query, key, value) = (
            query.clone().view(keys_form),
            key.clone().view(keys_form),
            value.clone().view(values_form),
        );
        let ones = tape.constant("ones", square, DType::Mask);
        let earlier = tape.constant("earlier tokens", square, DType::Mask);
        drop(ones);
        let between = sums.clone().less(sums.clone(), pairs).named("decays between tokens");
        let masked = {
            let infinity = tape.constant("minus infinity", self.number, between.dtype());
            between.clone().chosen(&infinity, &earlier)
        };
        let exponents = masked.clone().add(input.clone()).named("exponents");
        let (within, places) = exponents.clone().topk(numbers);
        drop(places);
        let before = sums.clone().add(largest.view(ends));
        let top = before.clone().maximum(&within).named("largest exponents");
        let stable = exponents.clone().less(top.clone(), pairs);
        let weights = stable.clone().apply(EXP).named("decays of pairs");
        let copied = |x: &Var<'t>, copies: bool| if copies { x.clone().copy() } else { x.clone() };
        let copies = self.copies[0];
        let scores = copied(&query, copies)
            .matrices(copied(&key, copies), pairs, true)
            .apply(SCALE)
            .named("scores of a chunk");
        let mixed = scores.clone().mul(weights.clone()).named("weighed scores");
        let from_start = before.clone().sub(top.clone()).apply(EXP).named("decays from the start");
        let gated = query.clone().mul(from_start.clone()).apply(SCALE).named("gated queries");
        let [of_matrix, of_sums] = self.starts;
        let across = {
            let matrix = matrix.view(of_matrix);
            copied(&gated, copies)
                .matrices(copied(&matrix, self.copies[2]), values_form, false)
                .view(values_form)
        };
        let seen = across.add(
            mixed.clone().matrices(copied(&value, copies), values_form, false).view(values_form),
        );
        let sum = {
            let of_keys = of_keys.view(of_sums);
            let across =
                copied(&gated, copies).matrices(copied(&of_keys, self.copies[2]), numbers, false);
            across.add(mixed.clone().total(numbers)).named("denominator")
        };
        let least = top.clone().apply(SCALE).apply(EXP);
        let bounded = sum.clone().absolute().maximum(&least).named("bounded denominator");
        drop(least);
        let divisor = bounded.clone().plus();
        seen.clone().over(&divisor).named("state output")
    }
}
