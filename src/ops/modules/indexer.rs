//! The indexer of sparse attention: it scores every token for each query and lets attention see the
//! best alone (transformers 5.23, `models/{deepseek_v32,glm_moe_dsa}`). No gradient reaches it.
//!
//! | symbol | field |
//! |---|---|
//! | i | `index_n_heads` |
//! | d | `index_head_dim` |
//! | t | tokens whose keys it scores |

use super::adapter::unread_linear;
use super::deepseek::interleaved;
use super::norm::Norm;
use super::rotary::rotated;
use super::{Build, FP32, Tables, half};
use crate::config::{IndexRotation, Indexer as Sizes, Mla};
use crate::ops::tape::{Factors, Form, Param, RELU, SCALE, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// Its projections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexer {
    query: Param,
    key: Param,
    norm: Norm,
    weights: Param,
    rotation: IndexRotation,
    /// Several sequences: keys are copied for every query.
    batched: bool,
    /// FLOPs of both products of scores.
    flops: f64,
    forms: Forms,
}

/// Shapes of the tensors that it makes.
#[derive(Clone, Copy, Debug)]
struct Forms {
    /// `[b, s, i · d]`, `[b, s, i, d]` and `[b, s, d]`.
    columns: Form,
    queries: Form,
    keys: Form,
    /// Rotated part of queries and of keys, and half of each.
    turned: [Form; 2],
    halves: [Form; 2],
    /// `[b, s, i]`.
    weights: Form,
    /// `[b · s, d, t]`.
    copies: Form,
    /// `[b, s, i, t]` and `[b, s, t]`.
    scores: Form,
    sums: Form,
    /// `[b, s, k]`.
    best: Form,
}

/// The indexer's results, for attention.
pub(super) struct Indexed<'t> {
    /// A mask of the layer's own.
    pub mask: Option<Var<'t>>,
    /// The best tokens, where later layers see the same.
    pub handed_on: Option<Var<'t>>,
    /// Tensors that the layer's caller holds to the end.
    _held: Vec<Var<'t>>,
}

/// The tokens that attention sees in one layer: its indexer chooses them, or the layer before has
/// chosen them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    indexer: Option<Indexer>,
    hands_on: bool,
    sums: Form,
    best: Form,
}

impl Sight {
    /// The sight of a layer with an indexer of its own, or without.
    pub fn new(build: &Build<'_>, mla: Mla, (sizes, own): (&Sizes, bool)) -> Self {
        let (with, tape) = (build.with, build.tape);
        let best = Dim("index_topk", sizes.topk.min(with.context_length));
        let indexer = own.then(|| Indexer::new(build, mla, sizes, best));
        let hands_on = build.model().family.modules().shares_indexed_tokens;
        let form = |last: Dim| tape.form([with.b(), with.s(), last]);
        Self {
            indexer,
            hands_on,
            sums: form(Dim("context_length", with.context_length)),
            best: form(best),
        }
    }

    /// The tokens that each query sees, from the attention's input and the narrow queries.
    pub fn run<'t>(&self, (x, narrow): (&Var<'t>, &Var<'t>), tables: &Tables<'t>) -> Indexed<'t> {
        let tape = x.tape();
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let own = self.indexer.as_ref().map(|indexer| indexer.run((x, narrow), tables));
        let masks = tables.mask.as_ref().map(|mask| {
            let wide = tape.constant("places of the best tokens", self.best, DType::Int64);
            let ones = tape.constant("ones", self.sums, DType::Mask);
            let hidden = tape.constant("tokens out of sight", self.sums, DType::Mask);
            drop((wide, ones));
            (tape.constant("mask of the layer", mask.form(), mask.dtype()), hidden)
        });
        let (mask, hidden) = masks.unzip();
        // A layer that takes the tokens chosen by the layer before hands on the same tensor.
        let best = own
            .or_else(|| tables.chosen.clone())
            .unwrap_or_else(|| tape.constant("best tokens", self.best, FP32));
        let handed_on = self.hands_on.then(|| best.clone());
        Indexed { mask, handed_on, _held: hidden.into_iter().chain([best]).collect() }
    }
}

impl Indexer {
    fn new(build: &Build<'_>, mla: Mla, sizes: &Sizes, best: Dim) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, met) = (with.b(), with.s(), Dim("context_length", with.context_length));
        let (heads, width) =
            (Dim("index_n_heads", sizes.num_heads), Dim("index_head_dim", sizes.head_dim));
        let columns = Dim("columns of the indexer's heads", heads.1.saturating_mul(width.1));
        let rank = Dim("q_lora_rank", mla.q_lora_rank.unwrap_or(with.h().1));
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let query = unread_linear(build, "index query weight", (columns, rank));
        let key = unread_linear(build, "index key weight", (width, with.h()));
        let norm = Norm::of_layers(build, width, build.shapes.rows);
        let weights = unread_linear(build, "index head weight", (heads, with.h()));
        for param in [query, key, weights].into_iter().chain(norm.parameters()) {
            tape.idle(param);
        }
        let turned = Dim("rotated width", mla.qk_rope_head_dim);
        let tokens = Dim("batch · seq_length", b.1.saturating_mul(s.1));
        let queries: f64 = [b.1, s.1, heads.1, met.1].map(to_f64).into_iter().product();
        Self {
            query,
            key,
            norm,
            weights,
            rotation: build.model().family.modules().index_rotation,
            batched: b.1 > 1,
            flops: 2.0 * queries * (to_f64(width.1) + 1.0),
            forms: Forms {
                columns: tape.form([b, s, columns]),
                queries: tape.form([b, s, heads, width]),
                keys: tape.form([b, s, width]),
                turned: [tape.form([b, s, heads, turned]), tape.form([b, s, turned])],
                halves: [
                    tape.form([b, s, heads, half(turned.1)]),
                    tape.form([b, s, half(turned.1)]),
                ],
                weights: tape.form([b, s, heads]),
                copies: tape.form([tokens, width, met]),
                scores: tape.form([b, s, heads, met]),
                sums: tape.form([b, s, met]),
                best: tape.form([b, s, best]),
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

    /// The best tokens of each query.
    fn run<'t>(&self, (x, narrow): (&Var<'t>, &Var<'t>), tables: &Tables<'t>) -> Var<'t> {
        let tape = x.tape();
        let before = tape.multiplies(Factors::Alone);
        let best = self.best((&x.clone().detached(), &narrow.clone().detached()), tables);
        tape.count(Factors::Alone, self.flops);
        tape.multiplies(before);
        best
    }

    fn best<'t>(&self, (x, narrow): (&Var<'t>, &Var<'t>), tables: &Tables<'t>) -> Var<'t> {
        let tape = x.tape();
        let q = Self::project(narrow, self.query, self.forms.columns)
            .named("index queries")
            .view(self.forms.queries);
        let made =
            Self::project(x, self.key, self.forms.keys).named("index keys before their norm");
        let k = self.norm.run(&{ made }).detached().named("index keys");
        // The columns that are not rotated are a view, which holds the whole.
        let _unrotated = [q.clone(), k.clone()];
        let (q, k, _turned) = self.rotated((q, k), tables);
        let scores = self.scores(tape, &q, &k);
        let projected = Self::project(x, self.weights, self.forms.weights);
        let weights = projected.cast(FP32).apply(SCALE).named("index weights");
        let format = tape.multiplies_in(FP32);
        let casts = [(&weights, self.forms.weights), (&scores, self.forms.scores)]
            .map(|(of, form)| cast(of, form, format));
        let sums = tape.constant("index scores", self.forms.sums, format);
        drop(casts);
        let masked = tables.mask.as_ref().map(|mask| {
            tape.constant("index scores", self.forms.sums, wider(format, mask.dtype()))
        });
        let sums = masked.unwrap_or(sums);
        let values = tape.constant("best scores", self.forms.best, sums.dtype());
        let places = tape.constant("places of the best tokens", self.forms.best, DType::Int64);
        // 32-bit numbers.
        let best = tape.constant("best tokens", self.forms.best, FP32);
        drop((values, places, weights));
        best
    }

    /// Queries and keys, and their rotated parts, which are held.
    fn rotated<'t>(
        &self,
        (q, k): (Var<'t>, Var<'t>),
        tables: &Tables<'t>,
    ) -> (Var<'t>, Var<'t>, [Option<Var<'t>>; 2]) {
        let Some((cos, sin)) = &tables.rotary else { return (q, k, [None, None]) };
        let [of_q, of_k] = self.forms.turned;
        let [half_q, half_k] = self.forms.halves;
        let turn = |x: &Var<'t>, form: Form, half: Form| match self.rotation {
            IndexRotation::Halves => rotated(&x.clone().slice(form), (cos, sin), half),
            IndexRotation::Pairs => {
                let pair = [x.clone().slice(half), x.clone().slice(half)];
                interleaved(&pair, &[cos.clone(), sin.clone()], form)
            }
        };
        let (turned_q, turned_k) = (turn(&q, of_q, half_q), turn(&k, of_k, half_k));
        let q = turned_q.clone().cat(q.clone(), self.forms.queries).named("index queries");
        let k = turned_k.clone().cat(k.clone(), self.forms.keys).named("index keys");
        (q, k, [Some(turned_q), Some(turned_k)])
    }

    /// `relu(q · kᵀ · scale)` in fp32, or in autocast's format.
    fn scores<'t>(&self, tape: &'t Tape, q: &Var<'t>, k: &Var<'t>) -> Var<'t> {
        let format = tape.multiplies_in(FP32);
        let (wide_q, wide_k) = (cast(q, self.forms.queries, FP32), cast(k, self.forms.keys, FP32));
        let again = [(&wide_q, self.forms.queries), (&wide_k, self.forms.keys)];
        let again = again.map(|(of, form)| of.as_ref().and_then(|of| cast(of, form, format)));
        let copies = self
            .batched
            .then(|| tape.constant("index keys of every query", self.forms.copies, format));
        let product = tape.constant("index scores", self.forms.scores, format);
        drop((copies, again, wide_q, wide_k));
        let scaled = { product }.apply(SCALE);
        scaled.apply(RELU).named("index scores of every head")
    }
}

/// A copy in that format, where it is another one.
fn cast<'t>(x: &Var<'t>, form: Form, format: DType) -> Option<Var<'t>> {
    (x.dtype() != format).then(|| x.tape().constant("cast copy", form, format))
}

fn wider(one: DType, other: DType) -> DType {
    if one.bits() >= other.bits() { one } else { other }
}
