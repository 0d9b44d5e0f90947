//! Self-attention: `SelfAttention` with `TELayerNormColumnParallelLinear`, `TEDotProductAttention`
//! and `TERowParallelLinear`; latent attention: `MLASelfAttention` with a norm of its own and norms
//! inside the up projections.

use super::kernels::Names;
use super::layers::{Linear, each, has, joint};
use super::rank::{Rank, count, step, tensor};
use super::{Module, RankOp};
use crate::config::{AttentionKernel, PositionEmbedding};
use crate::ops::tensor::{Dim, Op, Role, Tensor};
use crate::ops::work::{
    Behind, Collective, Core, Exchange, Operands, PassWork, ProcessGroup, Product, Work, sight,
};
use crate::units::DType;

const PROJECTIONS: Names = Names(
    "Input norm and query, key, value projection",
    Module::Rest,
    "query, key and value weight",
    Some("query, key and value bias"),
);
const OUTPUT: Names =
    Names("Output projection", Module::Rest, "output weight", Some("output bias"));

/// Operations of latent projections, and what makes a narrow vector with what is behind it and its
/// norm; of queries, then of keys and values.
const LATENT: [(&str, [Names; 2]); 2] = [
    (
        "Latent query projection",
        [
            Names("Query down projection", Module::Rest, "query down weight", None),
            Names("Query norm and up projection", Module::LatentUp, "query up weight", None),
        ],
    ),
    (
        "Latent key and value projection",
        [
            Names("Key and value down projection", Module::Rest, "key and value down weight", None),
            Names(
                "Key and value norm and up projection",
                Module::LatentUp,
                "key and value up weight",
                None,
            ),
        ],
    ),
];

/// Latent attention's queries where they are not narrowed.
const WHOLE_QUERIES: Names = Names("Query projection", Module::Rest, "query weight", None);

/// Widths of queries, keys, values and outputs on this rank.
#[derive(Clone, Copy)]
struct Widths {
    queries: Dim,
    keys: Dim,
    values: Dim,
    output: Dim,
}

impl Widths {
    /// Widths for so many heads of queries, and of keys and values, where a query and a value have
    /// these widths.
    fn of([heads, kv_heads]: [Dim; 2], [query, value]: [u64; 2]) -> Self {
        let of = |heads: Dim, width| Dim(heads.0, heads.1.saturating_mul(width));
        Self {
            queries: of(heads, query),
            keys: of(kv_heads, query),
            values: of(kv_heads, value),
            output: of(heads, value),
        }
    }
}

impl Rank<'_> {
    /// From the block's input to the first residual sum.
    pub fn attention(&self, ops: &[Op]) -> Vec<RankOp> {
        let Some(output) = joint(ops, "Output projection") else { return Vec::new() };
        let value = self.of_head(output.depth);
        let (mut steps, widths) =
            match (joint(ops, "Query, key and value projection"), each(ops, LATENT[0].0).last()) {
                (_, Some(query)) => {
                    let heads = Dim(query.columns.0, self.heads().1);
                    (self.latent(ops), Widths::of([heads; 2], [self.of_head(query.columns), value]))
                }
                (Some(joint), None) => {
                    let widths = Widths::of([self.heads(), self.kv_heads()], [value; 2]);
                    let mut steps = self.projections(
                        &widths,
                        &joint,
                        joint.columns.1.saturating_sub(output.depth.1),
                    );
                    steps.extend(has(ops, "Query and key norm").then(|| self.head_norms(value)));
                    (steps, widths)
                }
                (None, None) => return Vec::new(),
            };
        steps.push(self.core(&widths));
        let input = self.saved("attention output", self.all(), widths.output);
        let output = Linear { depth: widths.output, ..output };
        steps.push(self.row(&OUTPUT, &output, input));
        steps.extend(self.beside_row(&OUTPUT, &output, input));
        steps.push(self.bias_dropout_add("Attention residual"));
        steps
    }

    /// Columns of one head.
    const fn of_head(&self, columns: Dim) -> u64 {
        columns.1 / self.model.num_attention_heads
    }

    /// With fewer key/value heads than ranks every rank multiplies an equal part of the columns of
    /// keys and values; the heads are gathered afterwards, and each rank works with one
    /// (`get_query_key_value_tensors`, core 0.16).
    fn projections(&self, widths: &Widths, joint: &Linear, of_keys: u64) -> Vec<RankOp> {
        let shared = self.t() > self.model.num_key_value_heads;
        let keys = if shared {
            of_keys.div_ceil(self.t())
        } else {
            widths.keys.1.saturating_add(widths.values.1)
        };
        let columns = Dim("q+k+v width", widths.queries.1.saturating_add(keys));
        let norm = (true, [self.block_input(), self.hidden("normed input")]);
        let joint = Linear { columns, ..*joint };
        let step = self.column(&PROJECTIONS, &joint, Some(&norm));
        [step].into_iter().chain(self.beside_column(&PROJECTIONS, &joint)).collect()
    }

    /// Norms over single heads: they save queries and keys as projected.
    ///
    /// The projection's output holds queries, keys and values group by group. Where several heads
    /// share keys, queries are copied out of it (`query.reshape` in `get_query_key_value_tensors`),
    /// and the whole output stays for the keys in it.
    fn head_norms(&self, width: u64) -> RankOp {
        let (mut step, d) = (step("Query and key norm", Module::Rest), Dim("head_dim", width));
        if self.kv_heads().1 < self.heads().1 {
            let left = "queries among keys and values";
            step = step.with([tensor(
                left,
                Role::Saved,
                [self.s(), self.b(), self.heads(), d],
                self.activation,
            )]);
        }
        for (heads, name) in
            [(self.heads(), "projected queries"), (self.kv_heads(), "projected keys")]
        {
            let dims = [self.s(), self.b(), heads, d];
            let gradient = |name| tensor(name, Role::Workspace, dims, self.activation);
            step = step.with(self.norm_weights(d)).with([tensor(
                name,
                Role::Saved,
                dims,
                self.activation,
            )]);
            step = step.with(self.statistics([self.s(), self.b(), heads]));
            step =
                step.with([gradient("gradient of the output"), gradient("gradient of the input")]);
        }
        let heads = self.heads().1.saturating_add(self.kv_heads().1);
        let bytes = self.bytes(count(self.all()).saturating_mul(heads).saturating_mul(width));
        step.norms(bytes, 2)
    }

    /// The block's norm, which two projections read, then narrow vectors and what is made of each.
    /// Compressed keys and values share one storage with the rotated part of the key.
    fn latent(&self, ops: &[Op]) -> Vec<RankOp> {
        let mut steps =
            vec![self.norm("Input norm", [self.block_input(), self.hidden("normed input")])];
        let of_heads = |wide: &Linear| {
            let columns =
                Dim(wide.columns.0, self.heads().1.saturating_mul(self.of_head(wide.columns)));
            Linear { columns, ..*wide }
        };
        for (op, [down_names, up_names]) in &LATENT {
            match each(ops, op).as_slice() {
                [down, up] => {
                    steps.push(self.whole(down_names, down));
                    steps.push(self.normed_up(up_names, &of_heads(up), down.columns));
                }
                [wide] => steps.push(self.whole(&WHOLE_QUERIES, &of_heads(wide))),
                _ => {}
            }
        }
        steps
    }
}

/// Attention itself.
impl Rank<'_> {
    fn core(&self, widths: &Widths) -> RankOp {
        let projected =
            [("queries", widths.queries), ("keys", widths.keys), ("values", widths.values)];
        let core = if self.run.attention == AttentionKernel::Standard {
            self.scores()
        } else {
            self.kept_by_kernel(widths)
        };
        let core = core.into_iter().map(|tensor| self.droppable(tensor, Module::CoreAttention));
        let step = step("Attention core", Module::CoreAttention);
        let mut step = step
            .with(projected.map(|(name, width)| self.saved(name, self.all(), width)))
            .with(core);
        step =
            step.with([self.alive("gradient of the attention output", self.all(), widths.output)]);
        for (_, width) in projected {
            step =
                step.with([self.alive("gradient of queries, keys or values", self.all(), width)]);
            step = step.with(
                self.rotates().then(|| self.alive("gradient before rotation", self.all(), width)),
            );
        }
        let rotated = widths.queries.1.saturating_add(widths.keys.1);
        let rotated = self.bytes(count(self.all()).saturating_mul(rotated).saturating_mul(2));
        let (rotated, kernels) = if self.rotates() { (rotated, 2) } else { (0, 0) };
        let step = step.streams([rotated; 2], [kernels; 2]);
        self.attends(step.sends(self.ring(widths, false)).sends(self.ring(widths, true)), widths)
    }

    fn rotates(&self) -> bool {
        matches!(self.model.position_embedding, PositionEmbedding::Rotary)
    }

    /// The fused kernel's log-sum-exp, and its output where it is kept beside the projection's
    /// input.
    ///
    /// FlashAttention's package works in `[b, s, a, d]`, its output is copied back to `[s, b,
    /// a·d]`. Context parallelism keeps the output as the ring or the exchange of heads made it
    /// (Transformer Engine, `context_parallel.py`).
    fn kept_by_kernel(&self, widths: &Widths) -> Vec<Tensor> {
        // Where the projection does not keep its input, the kernel alone keeps its output.
        let apart =
            !self.options().fused_attention || self.layout.cp() > 1 || !self.keeps_input(OUTPUT.2);
        let output =
            || self.saved("attention output in the kernel's layout", self.all(), widths.output);
        let log_sum_exp =
            tensor("log-sum-exp", Role::Saved, [self.b(), self.heads(), self.s()], DType::Fp32);
        [log_sum_exp].into_iter().chain(apart.then(output)).collect()
    }

    /// Tokens of a sequence on all context-parallel ranks.
    fn full(&self) -> u64 {
        self.seq_length.saturating_mul(self.layout.cp())
    }

    /// Scores in memory: probabilities, and with dropout a mask and the dropped probabilities.
    ///
    /// Megatron-Core's own attention writes its scores into one buffer that all blocks share;
    /// Transformer Engine's makes a new one.
    fn scores(&self) -> Vec<Tensor> {
        let scores = |name, role, dtype| {
            tensor(
                name,
                role,
                [self.b(), self.heads(), self.s(), Dim("seq_length", self.full())],
                dtype,
            )
        };
        let wide = self.activation;
        let mut tensors = vec![
            scores("probabilities", Role::Saved, wide),
            scores("gradient of probabilities", Role::Workspace, wide),
        ];
        if self.options().attention_dropout {
            tensors.push(scores("attention dropout mask", Role::Saved, DType::Mask));
            tensors.push(scores("probabilities after dropout", Role::Saved, wide));
            tensors.push(scores("gradient of probabilities after dropout", Role::Workspace, wide));
        }
        tensors
    }

    /// Adds the costs of attention: the fused kernel, or scores, softmax and values one by one.
    fn attends(&self, step: RankOp, widths: &Widths) -> RankOp {
        let own = self.heads().1.max(1);
        let (query_width, value_width) = (widths.queries.1 / own, widths.output.1 / own);
        let (heads, queries, full) =
            (self.micro_batch_size.saturating_mul(self.heads().1), self.seq_length, self.full());
        if self.run.attention == AttentionKernel::Flash {
            let (pairs, seq_length) = sight(self.model, full, self.run.packed_text());
            let pairs = pairs / self.layout.cp();
            return step.attends(Core {
                heads,
                pairs,
                queries,
                seq_length,
                query_width,
                value_width,
            });
        }
        let product = |columns, depth| Product {
            count: heads,
            at_once: heads,
            rows: queries,
            columns,
            depth,
            of: Operands::Activations,
            narrow: false,
        };
        let scores = heads.saturating_mul(queries).saturating_mul(full);
        let piece = self.bytes(scores);
        // Softmax with its scale and mask reads and writes the scores; backward reads probabilities
        // and their gradient, writes one.
        let softmax = [piece.saturating_mul(2), piece.saturating_mul(3)];
        let dropout = if self.options().attention_dropout {
            piece.saturating_mul(2).saturating_add(scores)
        } else {
            0
        };
        let bytes = softmax.map(|bytes| bytes.saturating_add(dropout));
        step.multiplies(product(full, query_width), self)
            .streams(bytes, [2, 2])
            .multiplies(product(value_width, full), self)
    }

    /// Keys and values that go round the context-parallel ring, in backward with their gradients.
    fn ring(&self, widths: &Widths, backward: bool) -> Option<PassWork> {
        let ranks = self.layout.cp();
        let part = self
            .bytes(count(self.all()).saturating_mul(widths.keys.1.saturating_add(widths.values.1)));
        let bytes = part.saturating_mul(ranks).saturating_mul(if backward { 2 } else { 1 });
        let exchange = Exchange {
            collective: Collective::Ring,
            group: ProcessGroup::Context,
            bytes,
            behind: Behind::Attention,
        };
        (ranks > 1).then_some(PassWork { backward, work: Work::Exchange(exchange) })
    }
}
