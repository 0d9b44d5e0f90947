//! The indexer that chooses compressed keys for each query (`DeepseekV4Indexer`). No gradient comes
//! back to it, although its graph stands until it returns.
//!
//! | symbol | field |
//! |---|---|
//! | i | `index_n_heads` |
//! | d | `index_head_dim` |
//! | w | compressed keys |

use super::super::adapter::unread_linear;
use super::super::norm::Norm;
use super::super::{Build, FP32};
use super::compressor::Windows;
use super::turn::{Positions, Turn};
use crate::config::Compressed;
use crate::ops::tape::{Factors, Form, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// Its projections and shapes.
#[derive(Debug)]
pub(super) struct Chooser {
    key: Param,
    gate: Param,
    norm: Norm,
    query: Param,
    weights: Param,
    turns: [Turn; 2],
    positions: [Positions; 2],
    several_keys: bool,
    /// Several sequences: keys are copied for every query.
    batched: bool,
    autocast: bool,
    /// FLOPs of the scores.
    flops: f64,
    forms: Forms,
}

#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, 2 · d]` and `[b, w, r, 2 · d]` of what is compressed; `[b, w, 2 · r, d]`, `[b, w,
    /// d]`, `[b, 1, w, d]`, `[b, w, 1]`.
    columns: Form,
    windows: Form,
    both: Form,
    pooled: Form,
    keys: Form,
    rows: Form,
    /// `[b, s, i · d]`, `[b, i, s, d]`, `[b, s, i]` of queries.
    query: Form,
    heads: Form,
    weights: Form,
    /// `[b · s, d, w]`.
    copies: Form,
    /// `[b, s, i, w]`, `[b, s, w]`, `[s, w]` and `[b, s, k]`.
    scores: Form,
    sums: Form,
    flags: Form,
    best: Form,
    /// `[w]` and `[s]`.
    numbers: [Form; 2],
}

/// The first key that each query of that form does not see.
pub(super) fn thresholds(tape: &Tape, queries: Form) -> Var<'_> {
    let moved = tape.constant("positions moved on", queries, DType::Int64);
    let made = tape.constant("first keys out of sight", queries, DType::Int64);
    drop(moved);
    made
}

impl Chooser {
    /// Of that rate, with so many keys chosen.
    pub fn new(build: &Build<'_>, sizes: &Compressed, (rate, best): (u64, u64)) -> Self {
        let (with, tape) = (build.with, build.tape);
        let windows = Windows::new(build, rate, sizes.index_head_dim, true);
        let Windows { b, keys, tokens, width, columns } = windows;
        let (s, heads, one) = (with.s(), Dim("index_n_heads", sizes.index_n_heads), Dim("one", 1));
        let of_heads = Dim("columns of the indexer's heads", heads.1.saturating_mul(width.1));
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let bias = build.parameter("index bias of positions", [tokens, columns]);
        let key = unread_linear(build, "index key weight", (columns, with.h()));
        let gate = unread_linear(build, "index gate weight", (columns, with.h()));
        let norm = Norm::new(build, width, tape.form([b, keys])).alone();
        let query = unread_linear(
            build,
            "index query weight",
            (of_heads, Dim("q_lora_rank", sizes.q_lora_rank)),
        );
        let weights = unread_linear(build, "index head weight", (heads, with.h()));
        for param in [bias, key, gate, query, weights].into_iter().chain(norm.parameters()) {
            tape.idle(param);
        }
        Positions::register(build);
        let (twice, all) = (
            Dim("tokens of two keys", tokens.1.saturating_mul(2)),
            Dim("batch · seq_length", b.1.saturating_mul(s.1)),
        );
        let met: f64 = [b.1, s.1, heads.1, keys.1].map(to_f64).into_iter().product();
        Self {
            key,
            gate,
            norm,
            query,
            weights,
            turns: [
                Turn::new(build, [b, one, keys, width], [b, keys]),
                Turn::new(build, [b, heads, s, width], [s]),
            ],
            positions: [Positions::new(build, [b, keys]), Positions::new(build, [one, s])],
            several_keys: keys.1 > 0,
            batched: b.1 > 1,
            autocast: with.autocast,
            flops: 2.0 * met * to_f64(width.1),
            forms: Forms {
                columns: tape.form([b, s, columns]),
                windows: tape.form([b, keys, tokens, columns]),
                both: tape.form([b, keys, twice, width]),
                pooled: tape.form([b, keys, width]),
                keys: tape.form([b, one, keys, width]),
                rows: tape.form([b, keys]),
                query: tape.form([b, s, of_heads]),
                heads: tape.form([b, heads, s, width]),
                weights: tape.form([b, s, heads]),
                copies: tape.form([all, width, keys]),
                scores: tape.form([b, s, heads, keys]),
                sums: tape.form([b, s, keys]),
                flags: tape.form([s, keys]),
                best: tape.form([b, s, Dim("keys seen", best)]),
                numbers: [tape.form([keys]), tape.form([s])],
            },
        }
    }

    /// A product with a weight that no gradient comes back to.
    fn project<'t>(x: &Var<'t>, weight: Param, form: Form) -> Var<'t> {
        let weight = x.tape().weight(weight).detached();
        let product = x.clone().linear_by(&weight, form);
        x.tape().multiplied(x.form(), form);
        product
    }

    /// The keys of each query.
    pub fn run<'t>(&self, (x, narrow): (&Var<'t>, &Var<'t>)) -> Var<'t> {
        let tape = x.tape();
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let before = tape.multiplies(Factors::Alone);
        let best = self.best(&x.clone().detached(), &narrow.clone().detached());
        tape.count(Factors::Alone, self.flops);
        tape.multiplies(before);
        best
    }

    /// Rotated heads, and the tables that their graph holds.
    fn turned<'t>(&self, number: usize, x: &Var<'t>, tables: &(Var<'t>, Var<'t>)) -> Var<'t> {
        self.turns.get(number).map_or_else(|| x.clone(), |turn| turn.run(x, tables).detached())
    }

    /// Compressed keys of the indexer's own, with what is held beside them to its end.
    fn keys<'t>(&self, x: &Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        let (tape, forms) = (x.tape(), &self.forms);
        let (key, gate) =
            (Self::project(x, self.key, forms.columns), Self::project(x, self.gate, forms.columns));
        let format = if self.autocast { FP32 } else { gate.dtype() };
        let windows = tape.constant("index gates of windows", forms.windows, format);
        let both = tape.constant("index keys of two windows", forms.both, key.dtype());
        let gates = tape.constant("index gates of two windows", forms.both, format);
        let wide = (format != FP32).then(|| tape.constant("gates in fp32", forms.both, FP32));
        let probabilities = tape.constant("probabilities", forms.both, FP32);
        drop(wide);
        let narrow = (key.dtype() != FP32)
            .then(|| tape.constant("probabilities of keys", forms.both, key.dtype()));
        let product = tape.constant("weighed index keys", forms.both, key.dtype());
        let pooled = tape.constant("index keys before their norm", forms.pooled, key.dtype());
        drop(product);
        held.extend(
            [Some(probabilities), narrow]
                .into_iter()
                .flatten()
                .filter_map(|saved| tape.beside(saved)),
        );
        let saved = ["norm input in fp32", "unscaled norm output"]
            .map(|name| tape.beside(tape.constant(name, forms.pooled, FP32)));
        held.extend(saved.into_iter().flatten());
        held.extend(tape.beside(tape.constant("norm statistics", forms.rows, FP32)));
        let normed = self.norm.run(&{ pooled }).detached().named("index keys");
        held.extend([key, gate, windows, both, gates, self.positions[0].numbers(tape)]);
        let tables = self.positions[0].tables(tape, normed.dtype());
        let turned = self.turned(0, &{ normed }.view(forms.keys), &tables).named("index keys");
        held.extend([tables.0, tables.1]);
        turned
    }

    /// The scores of every head, in fp32.
    fn scores<'t>(&self, queries: &Var<'t>, keys: &Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        let (tape, forms) = (keys.tape(), &self.forms);
        let wide = |x: &Var<'t>, form: Form| {
            (x.dtype() != FP32).then(|| tape.constant("cast copy", form, FP32))
        };
        let (queries, keys) = (wide(queries, forms.heads), wide(keys, forms.pooled));
        let format = tape.multiplies_in(FP32);
        let cast = |form: Form| (format != FP32).then(|| tape.constant("cast copy", form, format));
        let again = [cast(forms.heads), cast(forms.pooled)];
        let copies =
            self.batched.then(|| tape.constant("index keys of every query", forms.copies, format));
        let product = tape.constant("index scores", forms.scores, format);
        let relu = tape.constant("index scores above 0", forms.scores, format);
        let saved = [queries, copies.or(keys), Some(relu)]
            .into_iter()
            .flatten()
            .filter_map(|saved| tape.beside(saved));
        held.extend(saved);
        drop((again, product));
        tape.constant("index scores of every head", forms.scores, format)
    }

    fn best<'t>(&self, x: &Var<'t>, narrow: &Var<'t>) -> Var<'t> {
        let (tape, forms) = (x.tape(), &self.forms);
        let mut held = Vec::new();
        let keys = if self.several_keys {
            self.keys(x, &mut held)
        } else {
            tape.constant("index keys", forms.keys, x.dtype())
        };
        let tables = self.positions[1].tables(tape, x.dtype());
        let made = Self::project(narrow, self.query, forms.query)
            .named("index queries")
            .heads(forms.heads, true);
        let queries = self.turned(1, &{ made }, &tables).named("index queries");
        let mut of_scores = Vec::new();
        let scores = self.scores(&queries, &keys, &mut of_scores);
        let weights = {
            let projected = Self::project(x, self.weights, forms.weights);
            let wide = { projected }.cast(FP32);
            wide.apply(crate::ops::tape::SCALE).named("index weights")
        };
        let product = tape.constant("weighed index scores", forms.scores, FP32);
        let sums = tape.constant("index scores", forms.sums, FP32);
        drop(product);
        of_scores.extend([scores, weights].into_iter().filter_map(|saved| tape.beside(saved)));
        held.extend([
            thresholds(tape, forms.numbers[1]),
            tape.constant("numbers of keys", forms.numbers[0], DType::Int64),
        ]);
        held.push(tape.constant("keys out of sight", forms.flags, DType::Mask));
        let masked = tape.constant("index scores", forms.sums, FP32);
        drop(sums);
        let numbers = |name| tape.constant(name, forms.best, DType::Int64);
        let values = tape.constant("best scores", forms.best, FP32);
        let best = numbers("best keys");
        drop(values);
        let invalid = tape.constant("keys that do not count", forms.best, DType::Mask);
        let none = numbers("no key");
        let chosen = numbers("chosen keys");
        drop((none, invalid, best, masked, of_scores, tables, queries, held));
        chosen
    }
}
