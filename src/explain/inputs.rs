//! The inputs of a job by their letters, and dimensions of shapes as formulas of these inputs.

use crate::config::{Job, Run};
use crate::ops::{Dim, EXPERTS_OF_RANK};

use super::expr::{Expr, FormulaValue, Symbol};

/// One input: key, letter, meaning. Letters are those of the operation list; parallel degrees are
/// Megatron-LM's.
type Known = (&'static str, &'static str, &'static str);

const S: Known = ("seq_length", "s", "tokens of a sequence");
const B: Known = ("micro_batch_size", "b", "sequences that a GPU holds at once");
const CONTEXT: Known = ("context_length", "s", "tokens kept of a sequence");
const CHUNK: Known = ("prefill_chunk_size", "q", "tokens of a prompt processed at once");
const BLOCK: Known = ("block_size", "β", "tokens of one block of the cache");
const SEQUENCES: Known = ("concurrent_sequences", "n", "sequences served at the same time");
const HIDDEN: Known = ("hidden_size", "h", "width of the residual stream");
const LAYERS: Known = ("num_hidden_layers", "L", "blocks");
const HEADS: Known = ("num_attention_heads", "a", "query heads");
const KV_HEADS: Known = ("num_key_value_heads", "k", "heads of keys and values");
const HEAD_DIM: Known = ("head_dim", "d", "width of a head");
const FFN: Known = ("intermediate_size", "f", "inner width of the feed-forward layer");
const VOCAB: Known = ("vocab_size", "v", "tokens of the vocabulary");
const EXPERTS: Known = ("num_experts", "E", "experts of a block");
const EXPERT_WIDTH: Known = ("moe_intermediate_size", "f_E", "inner width of an expert");
const SHARED_WIDTH: Known =
    ("shared_expert_intermediate_size", "f_S", "inner width of all shared experts");
const TENSOR: Known = ("tensor_model_parallel_size", "t", "tensor-parallel ranks");
const CONTEXT_RANKS: Known = ("context_parallel_size", "c", "context-parallel ranks");
const EXPERT_RANKS: Known = ("expert_model_parallel_size", "e", "ranks that share out the experts");
const SHARDS: Known = ("data_parallel_size", "D", "data-parallel ranks that share this out");
const EXPERT_SHARDS: Known =
    ("expert_data_parallel_size", "D_E", "ranks that share out one expert's states");

fn symbol((name, letter, meaning): Known, value: u64) -> Expr {
    Expr::Symbol(Symbol {
        letter: letter.to_owned(),
        name,
        meaning: meaning.to_owned(),
        value: FormulaValue::Whole(value),
    })
}

/// A job's inputs as symbols.
pub(super) struct Inputs<'a> {
    pub job: &'a Job,
}

impl Inputs<'_> {
    /// Tokens of a sequence, kept or trained on.
    pub fn s(&self) -> Expr {
        symbol(if self.job.training().is_some() { S } else { CONTEXT }, self.job.seq_length())
    }

    /// Sequences at once.
    pub fn b(&self) -> Expr {
        symbol(
            if self.job.training().is_some() { B } else { SEQUENCES },
            self.job.micro_batch_size(),
        )
    }

    /// Width of the residual stream.
    pub fn h(&self) -> Expr {
        symbol(HIDDEN, self.job.model().hidden_size)
    }

    pub fn heads(&self) -> Expr {
        symbol(HEADS, self.job.model().num_attention_heads)
    }

    pub fn kv_heads(&self) -> Expr {
        symbol(KV_HEADS, self.job.model().num_key_value_heads)
    }

    pub fn head_dim(&self) -> Expr {
        symbol(HEAD_DIM, self.job.model().head_dim)
    }

    fn ffn(&self) -> Expr {
        symbol(FFN, self.job.model().intermediate_size)
    }

    pub fn layers(&self) -> Expr {
        symbol(LAYERS, self.job.model().num_hidden_layers)
    }

    /// Tensor-parallel ranks; the plain number 1 where there is one.
    pub fn t(&self) -> Expr {
        ranks(TENSOR, self.job.layout().t())
    }

    /// Context-parallel ranks; the plain number 1 where there is one.
    pub fn cp(&self) -> Expr {
        ranks(CONTEXT_RANKS, self.job.layout().cp())
    }

    fn ep(&self) -> Expr {
        ranks(EXPERT_RANKS, self.job.layout().ep())
    }

    /// Data-parallel ranks that share model states out among themselves.
    pub fn shards(&self) -> Expr {
        ranks(SHARDS, self.job.layout().shards())
    }

    /// Ranks that share out one expert's states under Megatron-LM.
    pub fn expert_shards(&self) -> Expr {
        let layout = self.job.layout();
        ranks(EXPERT_SHARDS, (layout.expert_data_parallel_size() / layout.replicas()).max(1))
    }

    /// The input of that name, if it is one.
    fn input(&self, name: &str) -> Option<Expr> {
        let model = self.job.model();
        Some(match name {
            "seq_length" if self.job.training().is_some() => self.s(),
            "context_length" => self.s(),
            "micro_batch_size" | "concurrent_sequences" => self.b(),
            "hidden_size" => self.h(),
            "num_hidden_layers" => self.layers(),
            "num_attention_heads" => self.heads(),
            "num_key_value_heads" => self.kv_heads(),
            "head_dim" => self.head_dim(),
            "intermediate_size" => self.ffn(),
            "vocab_size" => symbol(VOCAB, model.vocab_size),
            "num_experts" => symbol(EXPERTS, model.moe.as_ref()?.num_experts),
            "moe_intermediate_size" => {
                symbol(EXPERT_WIDTH, model.moe.as_ref()?.moe_intermediate_size)
            }
            "shared_expert_intermediate_size" => {
                symbol(SHARED_WIDTH, model.moe.as_ref()?.shared_expert_intermediate_size)
            }
            _ => return None,
        })
    }

    /// An input and the parts of it that ranks have.
    fn shares(&self, name: &'static str, input: Expr) -> Vec<Expr> {
        let by_t = input.clone().over_up(self.t());
        match name {
            // Context-parallel ranks share sequences.
            "seq_length" | "context_length" => {
                let by_cp = input.clone().over_up(self.cp());
                vec![input, by_cp.clone(), by_t, by_cp.over_up(self.t())]
            }
            // Some modules give the width of all heads the name of the heads.
            name if name.ends_with("_heads") => {
                let width = |heads: &Expr| Expr::product([heads.clone(), self.head_dim()]);
                let widths = [width(&input), width(&by_t)];
                [input, by_t].into_iter().chain(widths).collect()
            }
            "moe_intermediate_size" => {
                let etp = Expr::meant(self.job.layout().etp(), "ranks that split one expert");
                vec![input.clone(), by_t, input.over_up(etp)]
            }
            _ => vec![input, by_t],
        }
    }

    /// The formulas that a dimension may have; the first whose value is the dimension's size is
    /// taken.
    fn candidates(&self, name: &'static str) -> Vec<Expr> {
        let two = || Expr::meant(2, "keys and values, or gate and up");
        let over = |above: Expr, by: Expr| above.over_up(by);
        if let Run::Serving(run) = self.job.run() {
            let block = || symbol(BLOCK, run.block());
            match name {
                // A step holds a chunk of prompts, or one token of every sequence.
                "seq_length" => {
                    let whole = Expr::product([self.s(), self.b()]);
                    return vec![symbol(CHUNK, run.prefill_chunk_size), self.b(), whole];
                }
                "context_length" => {
                    return vec![self.s(), Expr::product([block(), self.s().over_up(block())])];
                }
                _ => {}
            }
        }
        if let Some(input) = self.input(name) {
            return self.shares(name, input);
        }
        let heads = || over(self.heads(), self.t());
        let kv_heads = || over(self.kv_heads(), self.t());
        let joint = |heads: Expr, kv: Expr| Expr::sum([heads, Expr::product([two(), kv])]);
        let of_heads = |count: Expr| Expr::product([count, self.head_dim()]);
        match name {
            "keys" | "queries" => vec![self.s(), over(self.s(), self.cp())],
            "seq_length + 1" => vec![Expr::sum([self.s(), Expr::whole(1)])],
            "columns of all heads" | "columns of heads" => {
                // Widths of one head: of queries, of values, and of unrotated keys with values.
                let narrow = self.job.model().mla.map(|mla| {
                    [mla.v_head_dim, mla.qk_nope_head_dim.saturating_add(mla.v_head_dim)]
                });
                let narrow = narrow
                    .into_iter()
                    .flatten()
                    .map(|width| Expr::meant(width, "columns of one head"));
                let widths: Vec<Expr> = std::iter::once(self.head_dim()).chain(narrow).collect();
                let of = |heads: Expr| {
                    widths.iter().map(move |width| Expr::product([heads.clone(), width.clone()]))
                };
                of(heads()).chain(of(self.heads())).collect()
            }
            "q+k+v width" => {
                let all = of_heads(joint(self.heads(), self.kv_heads()));
                vec![all.clone(), of_heads(joint(heads(), kv_heads())), over(all, self.t())]
            }
            "gate and up width" => {
                let widths = [
                    "intermediate_size",
                    "moe_intermediate_size",
                    "shared_expert_intermediate_size",
                ];
                let widths = widths.into_iter().flat_map(|name| self.candidates(name));
                widths.map(|width| Expr::product([two(), width])).collect()
            }
            EXPERTS_OF_RANK => {
                self.input("num_experts").map(|all| over(all, self.ep())).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// A dimension as a formula of inputs, or by its own name.
    pub fn dim(&self, dim: Dim) -> Expr {
        let Dim(name, value) = dim;
        if value == 1 {
            return Expr::whole(1);
        }
        let made = self.candidates(name).into_iter().find(|made| made.comes_to(value));
        made.unwrap_or_else(|| {
            // A small fixed number is written as itself: `2` for keys and values.
            if value <= 4 {
                Expr::meant(value, name)
            } else {
                Expr::word(name, name, FormulaValue::Whole(value))
            }
        })
    }

    /// True if the job is a training, for texts that differ between training and serving.
    pub const fn trains(&self) -> bool {
        matches!(self.job.run(), Run::Training(_))
    }
}

fn ranks(known: Known, value: u64) -> Expr {
    if value <= 1 { Expr::whole(1) } else { symbol(known, value) }
}
