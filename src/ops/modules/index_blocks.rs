//! The indexer of attention to blocks of keys: for each query and each group of heads it chooses
//! the blocks whose best key scores highest (transformers 5.23, `models/minimax_m3_vl`). No
//! gradient comes back to it, although its graph stands until it returns.
//!
//! | symbol | field |
//! |---|---|
//! | i | `index_n_heads` |
//! | d | `index_head_dim` |
//! | t | tokens whose keys it scores |
//! | n | blocks of keys |

use super::adapter::unread_linear;
use super::norm::Norm;
use super::rotary::rotated;
use super::{Build, FP32, Tables, half};
use crate::config::Indexer as Sizes;
use crate::ops::tape::{Factors, Form, Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::{DType, to_f64};

/// Its projections and shapes.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexBlocks {
    query: Param,
    key: Param,
    norms: [Norm; 2],
    /// Several sequences: keys are copied for every head.
    batched: bool,
    /// Keys do not fill the last block.
    pads: bool,
    /// The rotated part is not the whole head.
    joins: bool,
    /// FLOPs of the scores.
    flops: f64,
    forms: Forms,
}

#[derive(Clone, Copy, Debug)]
struct Forms {
    /// Of queries and of the one key: `[b, s, i · d]`, `[b, s, i, d]`, its rotated part, and half
    /// of that.
    columns: [Form; 2],
    rows: [Form; 2],
    turned: [Form; 2],
    halves: [Form; 2],
    /// `[b, i, d, t]`: the key of every head.
    copies: Form,
    /// `[b, s, t]`, `[b, i, s, t]` and that with the last block filled.
    later: Form,
    scores: Form,
    padded: Form,
    /// `[b, i, s, n]`, `[b, i, s, n + 1]` and `[b, i, s, k]`.
    blocks: Form,
    more: Form,
    best: Form,
    /// `[b, a, s, t]`.
    mask: Form,
}

impl IndexBlocks {
    pub fn new(build: &Build<'_>, sizes: &Sizes) -> Self {
        let (with, tape) = (build.with, build.tape);
        let (b, s, met) = (with.b(), with.s(), Dim("context_length", with.context_length));
        let (heads, width) =
            (Dim("index_n_heads", sizes.num_heads), Dim("index_head_dim", sizes.head_dim));
        let columns = Dim("columns of the indexer's heads", heads.1.saturating_mul(width.1));
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let query = unread_linear(build, "index query weight", (columns, with.h()));
        let key = unread_linear(build, "index key weight", (width, with.h()));
        let one = Dim("index key", 1);
        let norms =
            [heads, one].map(|heads| Norm::new(build, width, tape.form([b, s, heads])).alone());
        for param in [query, key].into_iter().chain(norms.iter().flat_map(Norm::parameters)) {
            tape.idle(param);
        }
        let model = build.model();
        let turned = model.rotary_dim.unwrap_or(model.head_dim).min(width.1);
        let count = met.1.div_ceil(sizes.block.max(1));
        let form = |last: Dim| tape.form([b, heads, s, last]);
        let of = |last: Dim| [heads, one].map(|heads| tape.form([b, s, heads, last]));
        let queries: f64 = [b.1, s.1, heads.1, met.1].map(to_f64).into_iter().product();
        Self {
            query,
            key,
            norms,
            batched: b.1 > 1,
            pads: !met.1.is_multiple_of(sizes.block.max(1)),
            joins: turned < width.1,
            flops: 2.0 * queries * to_f64(width.1),
            forms: Forms {
                columns: [columns, width].map(|columns| tape.form([b, s, columns])),
                rows: of(width),
                turned: of(Dim("rotated width", turned)),
                halves: of(half(turned)),
                copies: tape.form([b, heads, width, met]),
                later: tape.form([b, s, met]),
                scores: form(met),
                padded: form(Dim("keys of whole blocks", count.saturating_mul(sizes.block))),
                blocks: form(Dim("blocks", count)),
                more: form(Dim("blocks and one", count.saturating_add(1))),
                best: form(Dim("index_topk_blocks", sizes.topk.min(count))),
                mask: build.shapes.scores,
            },
        }
    }

    /// The mask of the layer's own, where masks are added to scores, and the blocks that it is made
    /// of, which attention holds.
    pub fn run<'t>(&self, x: &Var<'t>, tables: &Tables<'t>) -> (Option<Var<'t>>, Var<'t>) {
        let tape = x.tape();
        tape.at("Indexer", sources::PYTORCH_AUTOGRAD);
        let before = tape.multiplies(Factors::Alone);
        let best = self.best(&x.clone().detached(), tables);
        tape.count(Factors::Alone, self.flops);
        tape.multiplies(before);
        (tables.mask.as_ref().map(|_| self.mask(tape, x.dtype())), best)
    }

    /// Normed, rotated heads, and what their graph holds: the norm's input in fp32, and its output
    /// before it is scaled.
    fn heads<'t>(
        &self,
        x: &Var<'t>,
        number: usize,
        tables: &Tables<'t>,
    ) -> Option<(Var<'t>, Vec<Var<'t>>)> {
        let tape = x.tape();
        let weight =
            [self.query, self.key].get(number).map(|param| tape.weight(*param).detached())?;
        let [columns, rows, turned, half] =
            [self.forms.columns, self.forms.rows, self.forms.turned, self.forms.halves]
                .map(|forms| forms.get(number).copied());
        let (columns, rows, turned, half, norm) =
            (columns?, rows?, turned?, half?, self.norms.get(number)?);
        let made = x.clone().linear_by(&weight, columns).view(rows);
        tape.multiplied(x.form(), columns);
        let held = ["norm input in fp32", "unscaled norm output"]
            .map(|name| tape.beside(tape.constant(name, rows, FP32)));
        let normed = norm.run(&{ made }).detached().named("index heads");
        let Some((cos, sin)) = &tables.rotary else {
            return Some((normed, held.into_iter().flatten().collect()));
        };
        let part = if self.joins { normed.clone().slice(turned) } else { normed.clone() };
        let turn = rotated(&part, (cos, sin), half);
        let joined = turn.clone().cat(normed.clone(), rows).named("index heads");
        drop((turn, normed, part));
        Some((joined, held.into_iter().flatten().collect()))
    }

    /// The blocks of each query.
    fn best<'t>(&self, x: &Var<'t>, tables: &Tables<'t>) -> Var<'t> {
        let (tape, forms) = (x.tape(), &self.forms);
        let format = tape.multiplies_in(FP32);
        let _queries = self.heads(x, 0, tables);
        let _key = self.heads(x, 1, tables);
        let copy = |name, form, format| tape.constant(name, form, format);
        let wide = [(forms.rows[0], "index queries in fp32"), (forms.rows[1], "index key in fp32")];
        let wide = wide.map(|(form, name)| copy(name, form, FP32));
        let casts = (format != FP32)
            .then(|| wide.each_ref().map(|wide| copy("cast copy", wide.form(), format)));
        let copies = self.batched.then(|| copy("index key of every head", forms.copies, format));
        let product = copy("index scores", forms.scores, format);
        // The product holds its operands: queries, and the key or its copies.
        let [queries, key] = casts.unwrap_or(wide);
        let _saved = [queries, copies.unwrap_or(key)].map(|operand| tape.beside(operand));
        let _later = copy("later tokens", forms.later, DType::Mask);
        let mut scores = copy("index scores", forms.scores, format);
        drop(product);
        if self.pads {
            scores = copy("index scores of whole blocks", forms.padded, format);
        }
        let _blocks = copy("scores of blocks", forms.blocks, format);
        let _best_scores = copy("best scores", forms.best, format);
        let _best = copy("best blocks", forms.best, DType::Int64);
        drop(scores);
        copy("best blocks", forms.best, DType::Int64)
    }

    /// `build_block_mask`: whether each head sees a key, written out for every head.
    fn mask<'t>(&self, tape: &'t Tape, format: DType) -> Var<'t> {
        let forms = &self.forms;
        let _safe = tape.constant("best blocks", forms.best, DType::Int64);
        let _bias = tape.constant("blocks out of sight", forms.more, format);
        let flags = |name, form| tape.constant(name, form, DType::Mask);
        let of_groups = flags("keys in sight of groups", forms.padded);
        let _of_heads = flags("keys in sight", forms.mask);
        drop(of_groups);
        let _no_padding = flags("tokens that are no padding", forms.later);
        let _keep = flags("keys in sight", forms.mask);
        let _zeros = tape.constant("zeros", forms.mask, format);
        let _hidden = flags("keys out of sight", forms.mask);
        tape.constant("mask of the layer", forms.mask, format)
    }
}
