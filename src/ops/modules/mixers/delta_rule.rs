//! The gated delta rule in chunks of tokens (`torch_chunk_gated_delta_rule` in
//! `models/qwen3_next/modeling_qwen3_next.py`, the same in `qwen3_5` and `olmo_hybrid`): within a
//! chunk a triangular system, from chunk to chunk a state.

use super::super::state::Sizes;
use super::super::{Build, FP32};
use crate::ops::tape::{EXP, Form, Order, RSQRT, RUNNING_SUM, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// Tokens of a chunk.
const CHUNK: u64 = 64;

/// Passes from chunk to chunk that are played one by one. A longer text has several chunks in a
/// pass: what a pass keeps is as much as they keep together, and what it works with is a little
/// more than one of them does at a time.
const MOST_PASSES: u64 = 16;

/// Queries, keys, values, decays and strengths `[b, s, heads(, width)]`.
pub(super) type Operands<'a, 't> = [&'a Var<'t>; 5];

/// Shapes by the width of keys and of values.
#[derive(Clone, Copy, Debug)]
struct Widths {
    /// `[b, s, n, d]` and `[b, n, s, d]`.
    rows: Form,
    heads: Form,
    /// `[b, n, S, d]` and `[b, n, c, C, d]`.
    padded: Form,
    chunks: Form,
}

/// Shapes of one number for each token and head.
#[derive(Clone, Copy, Debug)]
struct Numbers {
    heads: Form,
    padded: Form,
    chunks: Form,
    /// `[b, n, c]`.
    ends: Form,
}

/// Shapes of one pass from chunk to chunk.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// `[b, n, C, d]` of keys and of values.
    keys: Form,
    values: Form,
    /// `[b, n, C, C]`.
    pairs: Form,
    /// `[b, n]`.
    end: Form,
    /// `[b, n, r, p]`.
    state: Form,
}

impl Pass {
    /// A pass over so many chunks.
    fn new(build: &Build<'_>, sizes: &Sizes, chunks: u64) -> Self {
        let (b, n, tape) = (build.with.b(), sizes.heads, build.tape);
        let tokens = Dim("tokens of a chunk", CHUNK.saturating_mul(chunks));
        let states = Dim(sizes.state.0, sizes.state.1.saturating_mul(chunks));
        Self {
            keys: tape.form([b, n, tokens, sizes.state]),
            values: tape.form([b, n, tokens, sizes.head]),
            pairs: tape.form([b, n, tokens, Dim("tokens that each sees", CHUNK)]),
            end: if chunks == 1 {
                tape.form([b, n])
            } else {
                tape.form([b, n, Dim("chunks of a pass", chunks)])
            },
            state: tape.form([b, n, states, sizes.head]),
        }
    }
}

/// The rule over one layer's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeltaRule {
    keys: Widths,
    values: Widths,
    numbers: Numbers,
    /// `[b, n, s, 1]`.
    norm_rows: Form,
    /// `[b, n, c, C, C]`, and the mask `[C, C]`.
    pairs: Form,
    mask: Form,
    /// All passes but the last, and the last.
    pass: Pass,
    last_pass: Pass,
    passes: u64,
    count: u64,
    pads: bool,
    /// Value heads share keys; there are several heads; several sequences.
    shares: bool,
    heads: bool,
    batch: bool,
}

impl DeltaRule {
    pub fn new(build: &Build<'_>, sizes: &Sizes, shares: bool) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let count = s.1.div_ceil(CHUNK).max(1);
        let padded = Dim("tokens and padding", count.saturating_mul(CHUNK));
        let (n, c, size) = (sizes.heads, Dim("chunks", count), Dim("tokens of a chunk", CHUNK));
        let of_all = Dim("heads of all sequences", b.1.saturating_mul(n.1));
        let widths = |d| Widths {
            rows: tape.form([b, s, n, d]),
            heads: tape.form([b, n, s, d]),
            padded: tape.form([b, n, padded, d]),
            chunks: tape.form([of_all, c, size, d]),
        };
        let together = count.div_ceil(MOST_PASSES);
        let passes = count.div_ceil(together);
        Self {
            keys: widths(sizes.state),
            values: widths(sizes.head),
            numbers: Numbers {
                heads: tape.form([b, n, s]),
                padded: tape.form([b, n, padded]),
                chunks: tape.form([of_all, c, size]),
                ends: tape.form([of_all, c]),
            },
            norm_rows: tape.form([b, n, s, Dim("row", 1)]),
            pairs: tape.form([of_all, c, size, Dim("tokens that each sees", CHUNK)]),
            mask: tape.form([size, Dim("tokens that each sees", CHUNK)]),
            pass: Pass::new(build, sizes, together),
            last_pass: Pass::new(
                build,
                sizes,
                count.saturating_sub((passes - 1).saturating_mul(together)),
            ),
            passes,
            count,
            pads: padded.1 > s.1,
            shares,
            heads: n.1 > 1,
            batch: b.1 > 1,
        }
    }

    /// The rule's output `[b, s, n, p]`.
    pub fn run<'t>(&self, tape: &'t Tape, operands: Operands<'_, 't>) -> Var<'t> {
        let format = operands[0].dtype();
        let [query, key, value, decay, beta] = self.prepared(operands);
        let v_beta = value.clone().mul(beta.clone());
        let k_beta = key.clone().mul(beta.clone());
        let in_chunks = |x: Var<'t>, form| x.view(form);
        let [query, key, k_beta] = [query, key, k_beta].map(|x| in_chunks(x, self.keys.chunks));
        let v_beta = in_chunks(v_beta, self.values.chunks);
        let decay = in_chunks(decay, self.numbers.chunks);
        let mask = {
            let _all = tape.constant("ones", self.mask, DType::Mask);
            tape.constant("later tokens of a chunk", self.mask, DType::Mask)
        };
        let sums = decay.clone().apply(RUNNING_SUM).named("decays of a chunk");
        let mut pairwise = sums.clone().less(sums.clone(), self.pairs);
        pairwise = pairwise.clone().masked(&mask);
        pairwise = pairwise.clone().apply(EXP).named("pairwise decays");
        let copies = self.copies_chunks(format);
        let product = |a: &Var<'t>, b: &Var<'t>| {
            let (b, a) = (b.clone().for_product(), a.clone().for_product());
            let (a, b) = (copied_if(copies, a), copied_if(copies, b));
            a.matrices(b, self.pairs, true)
        };
        let system = product(&k_beta, &key).mul(pairwise.clone()).named("system of a chunk");
        let inside = product(&query, &key).mul(pairwise.clone()).named("scores of a chunk");
        let decayed = k_beta.clone().mul(sums.clone().apply(EXP)).named("decayed keys");
        let columns = self.count > 1;
        let values = system.clone().solved(v_beta.clone(), columns).named("new values");
        let read =
            system.clone().solved(decayed.clone(), columns).named("keys that read the state");
        let state = tape.constant("state", self.pass.state, FP32);
        let core = tape.constant("output of the state", self.values.chunks, FP32);
        let query = query.clone().mul(sums.clone().apply(EXP));
        let (key, ends) = self.decayed_to_the_end(tape, &key, &sums);
        let core = self.scan(
            tape,
            (&query, &key, &values),
            (&read, &inside, &ends),
            (state, core),
            format,
        );
        self.in_rows(core, format)
    }

    /// All in fp32, heads first, keys and queries of length 1, padded to whole chunks.
    fn prepared<'t>(&self, [query, key, value, decay, beta]: Operands<'_, 't>) -> [Var<'t>; 5] {
        let own =
            |x: &Var<'t>| if self.shares { x.clone().repeat(self.keys.rows) } else { x.clone() };
        let (query, key) = (own(query), own(key));
        let first =
            |x: &Var<'t>, form| x.clone().swap(form, self.heads).cast_as(FP32, "heads in fp32");
        let all = [
            first(&query, self.keys.heads),
            first(&key, self.keys.heads),
            first(value, self.values.heads),
            first(beta, self.numbers.heads),
            first(decay, self.numbers.heads),
        ];
        drop((query, key));
        let [mut query, mut key, value, beta, decay] = all;
        query = self.unit(&query);
        key = self.unit(&key);
        query = query.clone().apply(SCALE);
        let pad = |x: &Var<'t>, form| x.clone().padded(form).ordered(Order::Plain);
        let padded = [
            pad(&query, self.keys.padded),
            pad(&key, self.keys.padded),
            pad(&value, self.values.padded),
        ];
        drop((query, key, value));
        let [query, key, value] = padded;
        let numbers = [pad(&beta, self.numbers.padded), pad(&decay, self.numbers.padded)];
        drop((beta, decay));
        let [beta, decay] = numbers;
        [query, key, value, decay, beta]
    }

    /// `l2norm`.
    fn unit<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let length = x
            .clone()
            .mul(x.clone())
            .sum(self.norm_rows)
            .plus()
            .apply(RSQRT)
            .named("inverse lengths");
        x.clone().mul(length.clone())
    }

    /// Keys, decayed from their token to the end of the chunk, and each chunk's whole decay. No
    /// gradient comes back to them through a single chunk, so that none of its graph is left.
    fn decayed_to_the_end<'t>(
        &self,
        tape: &'t Tape,
        key: &Var<'t>,
        sums: &Var<'t>,
    ) -> (Var<'t>, Var<'t>) {
        if self.count == 1 {
            let exponentials = {
                let _rest = tape.constant("rest of the decay", self.numbers.chunks, FP32);
                tape.constant("exponential", self.numbers.chunks, FP32)
            };
            let keys = tape.constant("decayed keys", self.keys.chunks, FP32);
            drop(exponentials);
            return (keys, tape.constant("exponential", self.numbers.ends, FP32));
        }
        let last = sums.clone().slice(self.numbers.ends);
        let keys = key.clone().mul(last.less(sums.clone(), self.numbers.chunks).apply(EXP));
        (keys, sums.clone().slice(self.numbers.ends).apply(EXP))
    }

    /// True if a product copies the matrices of all chunks.
    const fn copies_chunks(&self, format: DType) -> bool {
        let several = if self.shares {
            self.count > 1 || self.batch
        } else {
            self.count > 1 && (self.heads || self.batch)
        };
        self.lies_otherwise(format) && several
    }

    /// True if a product copies the matrices of one chunk.
    const fn copies_chunk(&self, format: DType) -> bool {
        self.lies_otherwise(format) && self.shares && self.batch
    }

    /// True if queries and keys lie by tokens or by columns: they were neither cast nor padded.
    const fn lies_otherwise(&self, format: DType) -> bool {
        matches!(format, DType::Fp32) && !self.pads
    }

    /// From chunk to chunk: what the state holds of a chunk's values is taken off, then queries
    /// read it, then it takes up what is new.
    fn scan<'t>(
        &self,
        tape: &'t Tape,
        (query, key, values): (&Var<'t>, &Var<'t>, &Var<'t>),
        (read, inside, ends): (&Var<'t>, &Var<'t>, &Var<'t>),
        (mut state, mut core): (Var<'t>, Var<'t>),
        format: DType,
    ) -> Var<'t> {
        let part = |x: &Var<'t>, form| x.clone().slice(form);
        let mut earlier = None;
        let copies = self.copies_chunk(format);
        for number in 1..=self.passes {
            let pass = if number == self.passes { &self.last_pass } else { &self.pass };
            let new = part(values, pass.values);
            let known = part(read, pass.keys).matrices(state.clone(), pass.values, false);
            let new = new.less(known, pass.values);
            let queries = part(query, pass.keys);
            let queries = {
                let state = state.clone().for_product();
                copied_if(copies, queries.for_product()).matrices(state, pass.values, false)
            };
            drop(earlier.replace(queries.clone()));
            let scores = part(inside, pass.pairs).matrices(new.clone(), pass.values, false);
            core = core.fill(&queries.add(scores));
            if number == self.passes {
                self.last_state(tape, key, &new);
                break;
            }
            let kept = state.clone().mul(part(ends, pass.end));
            let keys = part(key, pass.keys);
            let new = new.for_product();
            let keys = copied_if(copies, keys.for_product());
            state = kept
                .add(keys.matrices(new, pass.state, false).named("update of the state"))
                .named("state");
        }
        core
    }

    /// The state behind the last chunk, which nobody reads.
    fn last_state<'t>(&self, tape: &'t Tape, key: &Var<'t>, new: &Var<'t>) {
        let pass = &self.last_pass;
        let _kept = tape.constant("state", pass.state, FP32);
        let product = tape.multiplies_in(FP32);
        let cast = |form| (product != FP32).then(|| tape.constant("cast copy", form, product));
        let _casts = [cast(new.form()), cast(pass.keys)];
        let _copy = self.copies_chunk(key.dtype()).then(|| tape.constant("copy", pass.keys, FP32));
        let _update = tape.constant("update of the state", pass.state, product);
        tape.count_product(pass.state, CHUNK);
        drop(tape.constant("state", pass.state, FP32));
    }

    /// Chunks behind each other, without padding, tokens first, in the format of activations.
    fn in_rows<'t>(&self, core: Var<'t>, format: DType) -> Var<'t> {
        let core = if self.count > 1 { core.copy() } else { core };
        let core = core.in_parts(self.values.padded).part(self.values.heads);
        core.swap(self.values.rows, self.heads).cast_as(format, "output of the state")
    }
}

/// A product's operand, copied where it does not lie as the product reads it.
fn copied_if(copies: bool, operand: Var<'_>) -> Var<'_> {
    if copies { operand.copy() } else { operand }
}
