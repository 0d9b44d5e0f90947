//! State spaces in chunks of tokens (`mamba2_chunk_scan` in `models/mamba2/modeling_mamba2.py`, the
//! same in every family with Mamba 2's layers): products within a chunk, one product from chunk to
//! chunk.

use super::super::state::Sizes;
use super::super::{Build, FP32};
use crate::config::Mixer;
use crate::ops::tape::{EXP, Form, Order, Param, RUNNING_SUM, SOFTPLUS, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// A scan's operands: values `[b, s, h, p]`, steps `[b, s, h]`, decays `[h]`, inputs and readouts
/// `[b, s, g, n]`.
pub(super) type Operands<'a, 't> = [&'a Var<'t>; 5];

/// Shapes of values, or of inputs, of so many columns a head.
#[derive(Clone, Copy, Debug)]
struct Widths {
    /// `[b, s, h, d]` and `[b, S, h, d]`.
    rows: Form,
    padded: Form,
    /// `[bc, l, h, d]` and `[bch, l, d]`.
    chunks: Form,
    matrices: Form,
}

/// Shapes of one number for each token and head.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    padded: Form,
    chunks: Form,
    /// `[b, h, c]`, and with one more in front.
    ends: Form,
    more_ends: Form,
}

/// The scan over one layer's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkScan {
    step: Param,
    skip: Param,
    values: Widths,
    inputs: Widths,
    numbers: Numbers,
    /// `[bch, l, l]`, and a mask of it.
    pairs: [Form; 2],
    /// `[bh, c + 1, c + 1]`, and a mask of it.
    pairs_of_chunks: [Form; 2],
    /// `[bch, n, p]`, `[b, 1, h, pn]`, `[b, c, h, pn]`, and the last with one more chunk, also by
    /// heads.
    states: [Form; 5],
    /// Several sequences, chunks, heads.
    batch: bool,
    several: bool,
    heads: bool,
}

impl ChunkScan {
    pub fn new(build: &Build<'_>, sizes: &Sizes, mixer: &Mixer, [step, skip]: [Param; 2]) -> Self {
        let (b, s, h, tape) = (build.with.b(), build.with.s(), sizes.heads, build.tape);
        let length = mixer.chunk_size.max(1);
        let count = s.1.div_ceil(length).max(1);
        let padded = Dim("tokens and padding", count.saturating_mul(length));
        let (size, one) = (Dim("tokens of a chunk", length), Dim("one", 1));
        let chunks = Dim("chunks of all sequences", b.1.saturating_mul(count));
        let all = Dim("heads of all chunks", chunks.1.saturating_mul(h.1));
        let of_sequences = Dim("heads of all sequences", b.1.saturating_mul(h.1));
        let more = Dim("chunks and one", count.saturating_add(1));
        let state = Dim("state of a head", sizes.head.1.saturating_mul(sizes.state.1));
        let widths = |d| Widths {
            rows: tape.form([b, s, h, d]),
            padded: tape.form([b, padded, h, d]),
            chunks: tape.form([chunks, size, h, d]),
            matrices: tape.form([all, size, d]),
        };
        let seen = Dim("tokens that each sees", length);
        Self {
            step,
            skip,
            values: widths(sizes.head),
            inputs: widths(sizes.state),
            numbers: Numbers {
                padded: tape.form([b, padded, h]),
                chunks: tape.form([all, size]),
                ends: tape.form([of_sequences, Dim("chunks", count)]),
                more_ends: tape.form([of_sequences, more]),
            },
            pairs: [tape.form([all, size, seen]), tape.form([size, seen])],
            pairs_of_chunks: [
                tape.form([of_sequences, more, Dim("chunks before", more.1)]),
                tape.form([more, Dim("chunks before", more.1)]),
            ],
            states: [
                tape.form([all, sizes.state, sizes.head]),
                tape.form([b, one, h, state]),
                tape.form([b, Dim("chunks", count), h, state]),
                tape.form([b, more, h, state]),
                tape.form([of_sequences, more, state]),
            ],
            batch: b.1 > 1,
            several: count > 1,
            heads: h.1 > 1,
        }
    }

    /// True if chunks of all heads are copied into the order of products, because they lie by
    /// tokens.
    const fn copies(&self) -> bool {
        self.heads && (self.batch || self.several)
    }

    /// True if each chunk's heads are copied, because they lie by heads of all chunks.
    const fn copies_chunks(&self) -> bool {
        self.several && (self.heads || self.batch)
    }

    /// The scan's output `[b, s, h, p]` in fp32.
    pub fn run<'t>(
        &self,
        tape: &'t Tape,
        [values, steps, decay, input, readout]: Operands<'_, 't>,
    ) -> Var<'t> {
        let steps = steps.clone().add(tape.read(self.step).cast(steps.dtype()));
        let steps = { steps }.apply(SOFTPLUS);
        let steps = { steps }.clamp(2).named("steps");
        let values = values.clone().cast_as(FP32, "values in fp32").ordered(Order::Plain);
        let of_heads =
            |x: &Var<'t>| x.clone().cast_as(FP32, "groups in fp32").repeat(self.inputs.rows);
        let (input, readout) = (of_heads(input), of_heads(readout));
        let skipped = tape
            .read(self.skip)
            .mul(values.clone().padded(self.values.padded))
            .named("skipped values");
        let values = values.mul(steps.clone().cast_as(FP32, "steps in fp32"));
        let decays = decay.clone().mul(steps.clone().cast_as(FP32, "steps in fp32"));
        let (values, decays, input, readout) = self.chunks((values, decays), (input, readout));
        let sums = decays.clone().apply(RUNNING_SUM).named("decays of a chunk");
        let within = segments(tape, &decays, self.pairs).apply(EXP).named("pairwise decays");
        let copies = self.copies();
        let scores = matrix(&readout, self.inputs.matrices, copies).matrices(
            matrix(&input, self.inputs.matrices, copies),
            self.pairs[0],
            true,
        );
        let mask = scores.clone().mul(within.clone()).named("scores of a chunk");
        // Values lie by heads and columns, as the convolution left them, and padding keeps that
        // order.
        let copies_values = self.copies_chunks();
        let diagonal = mask.clone().matrices(
            matrix(&values, self.values.matrices, copies_values),
            self.values.matrices,
            false,
        );
        let diagonal = diagonal.heads(self.values.chunks, copies);
        let rest = {
            let last = sums.clone().slice(self.numbers.ends);
            last.less(sums.clone(), self.numbers.chunks).apply(EXP).named("decays to the end")
        };
        let faded = input.clone().mul(rest.clone()).named("faded inputs");
        let states = matrix(&faded, self.inputs.matrices, copies).matrices_of_columns(
            matrix(&values, self.values.matrices, copies_values),
            self.states[0],
        );
        let (starts, _held) = self.between(tape, states, &sums);
        let out = sums.clone().apply(EXP).named("decays from the start");
        let seen = matrix(&readout, self.inputs.matrices, copies).matrices(
            matrix(&starts, self.states[0], self.copies_chunks()),
            self.values.matrices,
            false,
        );
        let seen = seen.heads(self.values.chunks, copies);
        let across = seen.clone().mul(out.clone());
        let mut output = diagonal.clone().add(across.clone());
        if self.heads {
            output = { output }.copy();
        }
        output = output.ordered(Order::Plain).in_parts(self.values.padded);
        output = output.clone().add(skipped.clone());
        output.part(self.values.rows)
    }

    /// Values, decays, inputs and readouts, padded and in chunks.
    fn chunks<'t>(
        &self,
        (values, decays): (Var<'t>, Var<'t>),
        (input, readout): (Var<'t>, Var<'t>),
    ) -> (Var<'t>, Var<'t>, Var<'t>, Var<'t>) {
        // Backward puts tokens of several chunks behind each other again, which lie by heads then.
        let split = |x: Var<'t>, form, copied| if copied { x.view(form) } else { x.in_parts(form) };
        let by_heads = self.several && self.heads;
        let chunked = [
            split(values.clone().padded(self.values.padded), self.values.chunks, by_heads),
            decays.clone().padded(self.numbers.padded).in_parts(self.numbers.chunks),
            split(input.clone().padded(self.inputs.padded), self.inputs.chunks, self.several),
            split(readout.clone().padded(self.inputs.padded), self.inputs.chunks, by_heads),
        ];
        drop((values, decays, input, readout));
        let [values, decays, input, readout] = chunked;
        (values, decays, input, readout)
    }

    /// The state at the start of each chunk, and the tensors that keep their names until the scan
    /// is done.
    fn between<'t>(
        &self,
        tape: &'t Tape,
        states: Var<'t>,
        sums: &Var<'t>,
    ) -> (Var<'t>, Vec<Var<'t>>) {
        let [_, first, own, all, by_heads] = self.states;
        let states = states.heads(own, self.copies_chunks());
        let before = tape.constant("state before the first chunk", first, states.dtype());
        let states = before.clone().cat(states, all).named("states of chunks");
        let ends = sums.clone().slice(self.numbers.ends).padded(self.numbers.more_ends);
        let decays =
            segments(tape, &{ ends }, self.pairs_of_chunks).apply(EXP).named("decays of chunks");
        let turned = states.clone().swap(by_heads, self.heads);
        let turned = if self.batch && self.heads { turned.copy() } else { turned };
        let new = decays.clone().matrices(turned.ordered(Order::Plain), by_heads, false);
        drop(states);
        let new = new.heads(all, self.batch && self.heads).named("states at the starts");
        (new.clone().slice(own), vec![before, decays, new])
    }
}

/// Heads of all chunks as matrices: copied where they do not lie so.
fn matrix<'t>(x: &Var<'t>, form: Form, copied: bool) -> Var<'t> {
    let turned = x.clone().swap(form, copied);
    let turned = if copied { turned.copy() } else { turned };
    turned.ordered(Order::Plain)
}

/// `segment_sum`: sums along every stretch of tokens.
fn segments<'t>(tape: &'t Tape, x: &Var<'t>, [pairs, mask]: [Form; 2]) -> Var<'t> {
    let lower = || {
        let _ones = tape.constant("ones", mask, DType::Mask);
        tape.constant("earlier tokens", mask, DType::Mask)
    };
    let flags = |_: &Var<'t>| tape.constant("other tokens", mask, DType::Mask);
    let earlier = lower();
    let input = x.clone().expand(pairs).ordered(Order::Plain).masked(&flags(&earlier));
    let sums = input.clone().apply(RUNNING_SUM);
    let own = lower();
    drop(earlier);
    { sums }.masked(&flags(&own))
}
