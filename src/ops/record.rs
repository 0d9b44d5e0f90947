//! The record of a model: its modules are declared on a tape, so that no parameter is written down twice, and run there, so that no
//! product is.

use super::builder::Lowering;
use super::listed::Listed;
use super::modules::{Block, Build, Ends, Tables, block, kind, split_of_state};
use super::tape::{OpName, Tape};
use super::tensor::{Dim, Kept, Op, Role, Split, Tensor};
use super::{BlockKind, OpList, Shape, kinds};
use crate::config::LayerKind;
use crate::units::{DType, Flops, to_f64};

/// Operations behind the last block, whatever the order in which a family registers their parameters.
const HEAD: [&str; 3] = ["Final norm", "Pooler", "Output head and loss"];

/// The operations of a model with its parameters; of stacks that list them, and of serving, with their tensors; with FLOPs of one
/// micro-batch's forward, all tensor-parallel ranks together, if these are wanted.
///
/// Modules of both ends, and of each kind of block those of one, are declared on a tape, and run there at most once.
pub(super) fn of(with: &Lowering, counts: bool) -> OpList {
    let tape = Tape::to_declare();
    // With nothing split over tensor-parallel ranks.
    let with = Lowering { tensor_model_parallel_size: 1, sequence_parallel: false, ..*with };
    let kinds = kinds(with.model);
    let models: Vec<_> = kinds.iter().map(|(kind, _)| with.model.of_layers(*kind)).collect();
    let of_kinds: Vec<_> = kinds.iter().zip(&models).map(|((kind, _), model)| (*kind, Lowering { model, ..with })).collect();
    let modules = Modules::declare(&tape, &with, &of_kinds);
    let block = |(of, layers)| BlockKind { of, layers, ops: Vec::new(), first_half: 0 };
    let mut list = OpList { embedding: Vec::new(), kinds: kinds.into_iter().map(block).collect(), head: Vec::new() };
    let is_listed = !with.training || with.stack.is_listed();
    let flops = if is_listed || counts { modules.run(&mut list, (is_listed, counts)) } else { Vec::new() };
    modules.add_parameters(&mut list);
    for (ops, flops) in list.parts().zip(flops) {
        add(ops, flops);
    }
    if counts {
        leave_out(&with, &mut list);
    }
    list
}

/// The modules of a model on a tape, one block of each kind.
struct Modules<'a> {
    build: Build<'a>,
    ends: Ends,
    of_kinds: &'a [(LayerKind, Lowering<'a>)],
    blocks: Vec<Box<dyn Block>>,
    /// How many parameters there are before the first block, and behind each.
    places: Vec<u32>,
}

impl<'a> Modules<'a> {
    fn declare(tape: &'a Tape, with: &'a Lowering<'a>, of_kinds: &'a [(LayerKind, Lowering<'a>)]) -> Self {
        let build = Build::new(tape, with);
        let mut ends = Ends::new(&build, true, true);
        let mut places = Vec::with_capacity(of_kinds.len() + 1);
        places.push(tape.parameters());
        let mut blocks = Vec::with_capacity(of_kinds.len());
        for (kind, _) in of_kinds {
            let first = (0..with.model.num_hidden_layers).find(|layer| with.model.kind_of(*layer) == *kind);
            blocks.extend(first.map(|layer| block(&build, layer)));
            places.push(tape.parameters());
        }
        ends.finish(&build);
        Self { build, ends, of_kinds, blocks, places }
    }

    /// Adds parameters to the operations of their names; a name that the list does not have becomes an operation of its own.
    fn add_parameters(&self, list: &mut OpList) {
        let (state, with) = (self.build.tape.state(), self.build.with);
        for (parameter, at) in state.parameters.iter().zip(0_u32..).filter(|(parameter, _)| !parameter.beside) {
            let Some(storage) = usize::try_from(parameter.storage).ok().and_then(|at| state.storages.get(at)) else { continue };
            let (name, source) = state.op_name(storage.op);
            let shape = state.shape(parameter.form);
            // The first place that lies behind it: 0 before the first block.
            let behind = self.places.iter().position(|end| at < *end);
            let block = behind.and_then(|place| place.checked_sub(1));
            let of_block = block.and_then(|block| Some((self.of_kinds.get(block)?, list.kinds.get_mut(block)?)));
            let (ops, of_layer) = match of_block {
                Some(((_, of_kind), kind)) => (&mut kind.ops, of_kind),
                None if HEAD.contains(&name) => (&mut list.head, with),
                None => (&mut list.embedding, with),
            };
            let (role, dtype, kept) = (Role::Parameter, with.parameter, Kept::Always);
            let split = split(&shape, role, of_layer);
            let tensor = Tensor { name: storage.name, role, shape, dtype, split, kept };
            match ops.iter_mut().find(|op| op.name == name) {
                Some(op) => op.tensors.push(tensor),
                None => ops.push(Op { name, tensors: vec![tensor], forward: Flops(0.0), attention_core: false, source }),
            }
        }
    }

    /// Runs one block of each kind, and both ends where FLOPs are counted; lists what is listed, and returns the FLOPs of every part.
    fn run(&self, list: &mut OpList, (is_listed, counts): (bool, bool)) -> Vec<Vec<(OpName, [f64; 2])>> {
        let Build { tape, with, shapes, .. } = self.build;
        tape.count_only();
        let (mut flops, counted) = (Vec::with_capacity(4), || if counts { tape.take_flops() } else { Vec::new() });
        let embedded = counts.then(|| self.ends.embed(tape, &tape.constant("token ids", shapes.text, DType::Int64)));
        flops.push(counted());
        if is_listed {
            list.embedding = Listed::new(tape, with, (shapes, &[])).embedding();
        }
        let hidden = tape.constant("hidden states", shapes.hidden, self.build.activation());
        for ((block, (of, with)), kind) in self.blocks.iter().zip(self.of_kinds).zip(&mut list.kinds) {
            // No product reads a table.
            drop(block.run(tape, &hidden, &Tables::default()));
            flops.push(counted());
            if is_listed {
                // Layers with heads of their own have other shapes.
                let shapes = if of.other_heads { Build::again(tape, with).shapes } else { shapes };
                (kind.ops, kind.first_half) = Listed::new(tape, with, (shapes, &tape.take_products())).block(*of);
            }
        }
        if let Some(embedded) = embedded {
            drop(self.ends.end(tape, embedded, None));
        }
        flops.push(counted());
        if is_listed {
            list.head = Listed::new(tape, with, (shapes, &[])).head();
        }
        flops
    }
}

/// Adds FLOPs with weights, and those of attention, to the operation of their name.
fn add(ops: &mut Vec<Op>, flops: Vec<(OpName, [f64; 2])>) {
    for (OpName { name, source, .. }, [weights, attention]) in flops {
        let attention_core = attention > 0.0;
        let forward = Flops(weights + attention);
        match ops.iter_mut().find(|op| op.name == name) {
            Some(op) => (op.forward, op.attention_core) = (forward, attention_core),
            None => ops.push(Op { name, tensors: Vec::new(), forward, attention_core, source }),
        }
    }
}

/// Brings FLOPs to the figures that Headroom has given so far, where the tape is closer to the modules. Adapters' own products, less
/// than a hundredth, are left out by [`Tape::take_flops`].
///
/// - A gate of one column is left out.
/// - Latent attention's values are counted as wide as its queries and keys, to which FlashAttention 2 pads them.
/// - The head is counted as a matrix from the model's width to the vocabulary, also where it is narrower (`word_embed_proj_dim`, whose
///   own products are then left out) and where it gives one score for each token.
fn leave_out(with: &Lowering, list: &mut OpList) {
    let model = with.model;
    for op in list.kinds.iter_mut().flat_map(|kind| &mut kind.ops) {
        if op.name == "Shared experts' gate" {
            op.forward = Flops(0.0);
        }
        if op.attention_core && model.mla.is_some() {
            op.forward = with.attention_product() + with.attention_product();
        }
    }
    if model.word_embed_proj_dim.is_none() && !with.tuning.objective.scores() {
        return;
    }
    let head = Flops(2.0 * to_f64(with.head_rows()) * to_f64(model.hidden_size) * to_f64(model.vocab_size));
    for op in list.embedding.iter_mut().chain(&mut list.head) {
        op.forward = if op.name == "Output head and loss" { head } else { Flops(0.0) };
    }
}

/// How tensor-parallel ranks share a parameter, or what a list or a cache holds: by its heads, its feed-forward columns or its tokens'
/// rows, if it has any.
pub(super) fn split(shape: &Shape, role: Role, with: &Lowering) -> Split {
    let (heads, kv_heads, is_weight) = (with.heads().1, with.kv_heads().1, role == Role::Parameter);
    let of = |dim: &Dim| match dim.0 {
        "num_experts" if is_weight && with.expert_parallel && shape.dims().count() > 2 => Some(Split::Heads(dim.1)),
        "shared_expert_intermediate_size" if is_weight && with.dispatches => Some(Split::Replicated),
        "num_attention_heads" | "columns of all heads" | "columns of heads" => Some(Split::Heads(heads)),
        "num_key_value_heads" => Some(Split::Heads(kv_heads)),
        "q+k+v width" if is_weight => Some(Split::Joint { heads, kv_heads }),
        "q+k+v width"
        | "columns into the state"
        | "intermediate_size"
        | "gate and up width"
        | "moe_intermediate_size"
        | "gate and up"
        | "shared_expert_intermediate_size"
        | "vocab_size" => Some(Split::Tensor),
        _ => with.model.mixer().and_then(|mixer| split_of_state(mixer, dim)),
    };
    shape.dims().find_map(of).unwrap_or(Split::Replicated)
}

/// Parameters that learn, of the whole model with what fine-tuning adds.
pub(crate) fn trainable(with: &Lowering) -> u64 {
    let tape = Tape::default();
    let with = Lowering { tensor_model_parallel_size: 1, sequence_parallel: false, ..*with };
    let build = Build::new(&tape, &with);
    let learns = |from: u32| {
        let state = tape.state();
        let declared = state.parameters.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
        declared.filter(|found| !found.frozen && !found.beside).map(|found| found.kept).fold(0_u64, u64::saturating_add)
    };
    let mut ends = Ends::new(&build, true, true);
    ends.finish(&build);
    let mut sum = learns(0);
    // Blocks alike have as many.
    let mut known: Vec<((LayerKind, bool), u64)> = Vec::new();
    for layer in 0..with.model.num_hidden_layers {
        let kind = kind(with.model, &with.tuning, layer);
        let of_kind = known.iter().find(|(of, _)| *of == kind).map(|(_, count)| *count);
        let of_kind = of_kind.unwrap_or_else(|| {
            let from = tape.parameters();
            drop(block(&build, layer));
            known.push((kind, learns(from)));
            learns(from)
        });
        sum = sum.saturating_add(of_kind);
    }
    sum
}
