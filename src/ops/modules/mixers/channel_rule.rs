//! The delta rule with a decay for every channel, in chunks of tokens (`chunk_kimi_delta_attention`
//! in `models/kimi_linear/modeling_kimi_linear.py`): within a chunk each pair of tokens has a decay
//! for each channel, and a triangular system is solved row by row; from chunk to chunk there is a
//! state.

use super::super::state::Sizes;
use super::super::{Build, FP32};
use crate::ops::tape::{EXP, Form, Order, ROOT, RUNNING_SUM, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::units::DType;

/// Tokens of a chunk.
const CHUNK: u64 = 64;

/// Passes from chunk to chunk that are played one by one; those of a longer text stand for several
/// chunks each, as the delta rule's do.
const MOST_PASSES: u64 = 16;

/// Rows of a triangular system that are played together: what they keep is as much as they keep one
/// by one.
const ROWS: u64 = 7;

/// Queries, keys, values and decays `[b, s, n, d]`, and strengths `[b, s, n]`.
pub(super) type Operands<'a, 't> = [&'a Var<'t>; 5];

/// Shapes of one pass from chunk to chunk.
#[derive(Clone, Copy, Debug)]
struct Pass {
    /// `[b, n, C, d]`, `[b, n, C, C]`, `[b, n, C, C, d]`, `[b, n, d]`, `[b, n, d, d]`.
    rows: Form,
    pairs: Form,
    wide: Form,
    end: Form,
    state: Form,
}

impl Pass {
    /// A pass over so many chunks.
    fn new(build: &Build<'_>, sizes: &Sizes, chunks: u64) -> Self {
        let (b, n, d, tape) = (build.with.b(), sizes.heads, sizes.head, build.tape);
        let all = |width: u64| width.saturating_mul(chunks);
        let tokens = Dim("tokens of a chunk", all(CHUNK));
        let seen = all_seen(d);
        Self {
            rows: tape.form([b, n, tokens, d]),
            pairs: tape.form([b, n, tokens, Dim("tokens that each sees", CHUNK)]),
            wide: tape.form([b, n, tokens, seen]),
            end: tape.form([b, n, Dim("ends of chunks", chunks), d]),
            state: tape.form([b, n, Dim("state_size", all(sizes.state.1)), d]),
        }
    }
}

/// Channels of all tokens that a token sees.
const fn all_seen(d: Dim) -> Dim {
    Dim("channels of tokens that each sees", d.1.saturating_mul(CHUNK))
}

/// The rule over one layer's tokens.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChannelRule {
    /// `[b, s, n, d]`, `[b, n, s, d]`, `[b, n, S, d]`, `[bn, c, C, d]`.
    rows: Form,
    heads: Form,
    padded: Form,
    chunks: Form,
    /// `[b, n, s]`, `[b, n, S]`, and `[b, n, s, 1]` of norms.
    numbers: Form,
    padded_numbers: Form,
    norm_rows: Form,
    /// `[bn, c, C, C]`, that of every channel, and `[C, C]` of a mask.
    pairs: Form,
    wide: Form,
    mask: Form,
    /// Chunks of all heads.
    all: Dim,
    /// All passes but the last, and the last.
    pass: Pass,
    last_pass: Pass,
    passes: u64,
    /// There are several heads.
    several: bool,
}

impl ChannelRule {
    pub fn new(build: &Build<'_>, sizes: &Sizes) -> Self {
        let (b, s, tape) = (build.with.b(), build.with.s(), build.tape);
        let count = s.1.div_ceil(CHUNK).max(1);
        let padded = Dim("tokens and padding", count.saturating_mul(CHUNK));
        let (n, d, size) = (sizes.heads, sizes.head, Dim("tokens of a chunk", CHUNK));
        let all = Dim("chunks of all heads", b.1.saturating_mul(n.1).saturating_mul(count));
        let seen = Dim("tokens that each sees", CHUNK);
        let together = count.div_ceil(MOST_PASSES);
        let passes = count.div_ceil(together);
        Self {
            rows: tape.form([b, s, n, d]),
            heads: tape.form([b, n, s, d]),
            padded: tape.form([b, n, padded, d]),
            chunks: tape.form([all, size, d]),
            numbers: tape.form([b, n, s]),
            padded_numbers: tape.form([b, n, padded]),
            norm_rows: tape.form([b, n, s, Dim("row", 1)]),
            pairs: tape.form([all, size, seen]),
            wide: tape.form([all, size, all_seen(d)]),
            mask: tape.form([size, seen]),
            all,
            pass: Pass::new(build, sizes, together),
            last_pass: Pass::new(
                build,
                sizes,
                count.saturating_sub((passes - 1).saturating_mul(together)),
            ),
            passes,
            several: n.1 > 1,
        }
    }

    /// The rule's output `[b, s, n, d]`, in the format of queries.
    pub fn run<'t>(&self, tape: &'t Tape, operands: Operands<'_, 't>) -> Var<'t> {
        let format = operands[0].dtype();
        let [query, key, mut value, decay, beta] = self.prepared(operands);
        let v_beta = value.clone().mul(beta.clone()).in_parts(self.chunks);
        let k_beta = key.clone().mul(beta.clone()).in_parts(self.chunks);
        let [query, key, decay] = [query, key, decay].map(|x| x.in_parts(self.chunks));
        value = value.in_parts(self.chunks);
        let decay = { decay }.apply(RUNNING_SUM).named("decays of a chunk");
        let [mut mask, strict] = [self.later(tape), self.later(tape)];
        let pairwise = decay
            .clone()
            .less(decay.clone(), self.wide)
            .masked(&strict)
            .apply(EXP)
            .named("pairwise decays");
        let system = k_beta.clone().outer(key.clone(), self.wide).named("pairwise products");
        let system = system
            .mul(pairwise.clone())
            .sum(self.pairs)
            .masked(&mask)
            .apply(SCALE)
            .named("system of a chunk");
        let system = self.solved(tape, system);
        drop(std::mem::replace(
            &mut value,
            system.clone().matrices(v_beta.clone(), self.chunks, false).named("new values"),
        ));
        let read = system.clone().matrices(
            k_beta.clone().mul(decay.clone().apply(EXP)),
            self.chunks,
            false,
        );
        let state = tape.constant("state", self.pass.state, value.dtype());
        let core = tape.constant("output of the state", self.chunks, value.dtype());
        mask = self.later(tape);
        let core =
            self.scan(tape, [&query, &key, &value, &decay, &read, &pairwise], &mask, (state, core));
        let core = core.in_parts(self.padded).part(self.heads);
        core.swap(self.rows, self.several).contiguous().cast_as(format, "output of the state")
    }

    /// A mask of a chunk's later tokens.
    fn later<'t>(&self, tape: &'t Tape) -> Var<'t> {
        let _all = tape.constant("ones", self.mask, DType::Mask);
        tape.constant("later tokens of a chunk", self.mask, DType::Mask)
    }

    /// All in fp32, heads first, keys and queries of length 1, padded to whole chunks.
    fn prepared<'t>(&self, [query, key, value, decay, beta]: Operands<'_, 't>) -> [Var<'t>; 5] {
        // Queries, keys and values lie by columns and tokens, as the convolution left them.
        let columns = |x: &Var<'t>| {
            let turned = x.clone().swap(self.heads, self.several).copy().ordered(Order::Plain);
            turned.cast_as(FP32, "heads in fp32")
        };
        let first = |x: &Var<'t>, form| {
            x.clone().swap(form, self.several).contiguous().cast_as(FP32, "heads in fp32")
        };
        let all = [columns(query), columns(key), columns(value), first(beta, self.numbers)];
        let mut decay = first(decay, self.heads);
        let [mut query, mut key, mut value, mut beta] = all;
        query = self.unit(&{ query });
        key = self.unit(&{ key });
        query = { query }.padded(self.padded).apply(SCALE);
        key = { key }.padded(self.padded);
        value = { value }.padded(self.padded);
        decay = { decay }.padded(self.padded);
        beta = { beta }.padded(self.padded_numbers);
        [query, key, value, decay, beta]
    }

    /// `l2norm`: by the root and a quotient.
    fn unit<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let length =
            x.clone().mul(x.clone()).sum(self.norm_rows).plus().apply(ROOT).named("lengths");
        x.clone().divided_by(&length)
    }

    /// The inverse of each chunk's system, row by row and in place: every row keeps itself, and
    /// what it reads of those before it.
    fn solved<'t>(&self, tape: &'t Tape, mut system: Var<'t>) -> Var<'t> {
        let mut first = 1;
        while first < CHUNK {
            let rows = first..(first + ROWS).min(CHUNK);
            let columns = rows.clone().sum();
            let before = rows.clone().map(|row| row * row).sum();
            let row_form = tape.form([self.all, Dim("columns of rows", columns)]);
            let before_form = tape.form([self.all, Dim("numbers before rows", before)]);
            let row = system.clone().slice(row_form).copy().named("rows of a system");
            let earlier = system.clone().slice(before_form).copy().named("what stands before rows");
            let sum = row.clone().outer(earlier.clone(), before_form).sum(row_form);
            system = system.fill(&row.clone().add(sum));
            first = rows.end;
        }
        let one = tape.constant("ones of a diagonal", self.mask, FP32);
        system.clone().add(one)
    }

    /// From chunk to chunk: what the state holds of a chunk's values is taken off, then queries
    /// read it, then it takes up what is new.
    fn scan<'t>(
        &self,
        tape: &'t Tape,
        [query, key, values, decay, read, pairwise]: [&Var<'t>; 6],
        mask: &Var<'t>,
        (mut state, mut core): (Var<'t>, Var<'t>),
    ) -> Var<'t> {
        let part = |x: &Var<'t>, form| x.clone().slice(form);
        let (mut across, mut known) = (None, None);
        for number in 1..=self.passes {
            let pass = if number == self.passes { &self.last_pass } else { &self.pass };
            let [q, k, v, decays] = [query, key, values, decay].map(|x| part(x, pass.rows));
            let seen =
                q.clone().mul(decays.clone().apply(EXP)).matrices(state.clone(), pass.rows, false);
            drop(across.replace(seen.clone()));
            let scores = q.clone().outer(k.clone(), pass.wide).named("pairwise products");
            let scores = scores
                .mul(part(pairwise, pass.wide))
                .sum(pass.pairs)
                .masked(mask)
                .named("scores of a chunk");
            let old = part(read, pass.rows).matrices(state.clone(), pass.rows, false);
            drop(known.replace(old.clone()));
            let new = v.less(old, pass.rows);
            core = core.fill(&seen.add(scores.clone().matrices(new.clone(), pass.rows, false)));
            if number == self.passes {
                self.last_state(tape);
                break;
            }
            let kept = state.clone().mul(part(&decays, pass.end).apply(EXP));
            let faded =
                k.clone().mul(part(&decays, pass.end).less(decays.clone(), pass.rows).apply(EXP));
            state = kept
                .add(
                    faded.matrices_of_columns(new.clone(), pass.state).named("update of the state"),
                )
                .named("state");
        }
        core
    }

    /// The state behind the last chunk, which nobody reads, and what its graph keeps until it is
    /// let go.
    fn last_state(&self, tape: &Tape) {
        let pass = &self.last_pass;
        let _decays = tape.constant("exponential", pass.end, FP32);
        let _kept = tape.constant("state", pass.state, FP32);
        let _faded = [0; 2].map(|_| tape.constant("decayed keys", pass.rows, FP32));
        let product = tape.multiplies_in(FP32);
        let cast = |form| (product != FP32).then(|| tape.constant("cast copy", form, product));
        let _casts = [cast(pass.rows), cast(pass.rows)];
        let _update = tape.constant("update of the state", pass.state, product);
        tape.count_product(pass.state, CHUNK);
        drop(tape.constant("state", pass.state, FP32));
    }
}
