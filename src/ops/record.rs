//! The record of a model: its modules are declared on a tape, so that no parameter is written down
//! twice, and run there, so that no product is.

use super::builder::Lowering;
use super::listed::Listed;
use super::modules::{Block, Build, CROSSES, Ends, OF_TOWER, Tables, block, kind, split_of_state};
use super::tape::{OpName, Tape};
use super::tensor::{Dim, Kept, Op, Role, Split, Tensor};
use super::{BlockKind, OpList, Shape, kinds};
use crate::config::LayerKind;
use crate::units::{DType, Flops, to_f64};

/// Operations behind the last block, whatever the order in which a family registers their
/// parameters.
const HEAD: [&str; 3] = ["Final norm", "Pooler", "Output head and loss"];

/// The operations of a model with its parameters; of stacks that list them, and of serving, with
/// their tensors; with FLOPs of one micro-batch's forward, all tensor-parallel ranks together, if
/// these are wanted.
///
/// Modules of both ends, and of each kind of block those of one, are declared on a tape, and run
/// there at most once.
pub(super) fn of(with: &Lowering, counts: bool) -> OpList {
    let tape = Tape::to_declare();
    // With nothing split over tensor-parallel ranks.
    let with = Lowering {
        tensor_model_parallel_size: 1,
        sequence_parallel: false,
        compiled: false,
        ..*with
    };
    let kinds = kinds(with.model);
    let models: Vec<_> = kinds.iter().map(|(kind, _)| with.model.of_layers(*kind)).collect();
    let of_kind = |(model, (kind, _)): (_, &(LayerKind, u64))| {
        if kind.source { with.of_source(model) } else { Lowering { model, ..with } }
    };
    let of_kinds: Vec<_> = models.iter().map(|model| &**model).zip(&kinds).map(of_kind).collect();
    let modules = Modules::declare(&tape, &with, &kinds);
    let block = |(of, layers)| BlockKind { of, layers, ops: Vec::new(), first_half: 0 };
    let mut list = OpList {
        embedding: Vec::new(),
        kinds: kinds.into_iter().map(block).collect(),
        head: Vec::new(),
    };
    let is_listed = !with.training || with.stack.is_listed();
    let flops = if is_listed || counts {
        modules.run(&mut list, &of_kinds, (is_listed, counts))
    } else {
        Vec::new()
    };
    modules.add_parameters(&mut list, &of_kinds);
    let of_parts = std::iter::once(&with).chain(&of_kinds).chain(std::iter::once(&with));
    for ((ops, flops), of_part) in list.parts().zip(flops).zip(of_parts) {
        add(of_part, ops, flops);
    }
    list
}

/// The modules of a model on a tape, one block of each kind.
pub(super) struct Modules<'a> {
    pub build: Build<'a>,
    pub ends: Ends,
    /// The first block of each kind, with the layer that it is.
    pub blocks: Vec<(u64, Box<dyn Block>)>,
}

impl<'a> Modules<'a> {
    /// Declares embedding, blocks and head; parameters belong to layer 0, to 1 and those behind it,
    /// and to the last.
    pub fn declare(tape: &'a Tape, with: &'a Lowering<'a>, kinds: &[(LayerKind, u64)]) -> Self {
        let build = Build::new(tape, with);
        let mut ends = Ends::new(&build, true, true);
        let mut blocks = Vec::with_capacity(kinds.len());
        for ((kind, _), place) in kinds.iter().zip(1..) {
            tape.set_layer(place);
            let first =
                (0..with.model.num_hidden_layers).find(|layer| with.model.kind_of(*layer) == *kind);
            blocks.extend(first.map(|layer| (layer, block(&build, layer))));
        }
        tape.set_layer(behind(kinds));
        ends.finish(&build);
        Self { build, ends, blocks }
    }

    /// Adds parameters to the operations of their names; a name that the list does not have becomes
    /// an operation of its own.
    fn add_parameters(&self, list: &mut OpList, of_kinds: &[Lowering]) {
        let (state, with) = (self.build.tape.state(), self.build.with);
        for parameter in state.parameters.iter().filter(|parameter| !parameter.beside) {
            let Some(storage) =
                usize::try_from(parameter.storage).ok().and_then(|at| state.storages.get(at))
            else {
                continue;
            };
            let (name, source) = state.op_name(storage.op);
            let shape = state.shape(parameter.form);
            // Blocks that are one have their parameters once, as the ends have.
            let shared = with.model.shares_blocks() || parameter.shared;
            let block = usize::from(parameter.layer).checked_sub(1).filter(|_| !shared);
            let of_block =
                block.and_then(|block| Some((of_kinds.get(block)?, list.kinds.get_mut(block)?)));
            let (ops, of_layer) = match of_block {
                Some((of_kind, kind)) => (&mut kind.ops, of_kind),
                None if HEAD.contains(&name) => (&mut list.head, with),
                None => (&mut list.embedding, with),
            };
            let (role, dtype, kept) = (Role::Parameter, with.parameter, Kept::Always);
            let split = split(&shape, role, of_layer);
            let mut tensor = Tensor { name: storage.name, role, shape, dtype, split, kept };
            if OF_TOWER.contains(&name) {
                // Every rank has a whole tower, and its blocks are alike.
                let known =
                    ops.iter_mut().filter(|op| op.name == name).flat_map(|op| &mut op.tensors);
                if let Some(known) = known
                    .into_iter()
                    .find(|known| known.name == tensor.name && known.shape.counts(&shape))
                {
                    known.shape = known.shape.with_one_more();
                    continue;
                }
                (tensor.shape, tensor.split) = (shape.counted(), Split::Replicated);
            }
            let times = if parameter.shared {
                usize::try_from(with.model.shared_blocks()).unwrap_or(usize::MAX)
            } else {
                1
            };
            match ops.iter_mut().find(|op| op.name == name) {
                Some(op) => op.tensors.extend(std::iter::repeat_n(tensor, times)),
                None => ops.push(Op { name, tensors: vec![tensor; times], source, ..Op::NONE }),
            }
        }
    }

    /// Runs one block of each kind, and both ends where FLOPs are counted; lists what is listed,
    /// and returns the FLOPs of every part.
    fn run(
        &self,
        list: &mut OpList,
        of_kinds: &[Lowering],
        (is_listed, counts): (bool, bool),
    ) -> Vec<Vec<OpName>> {
        let Build { tape, with, shapes, .. } = self.build;
        tape.count_only();
        let (mut flops, counted) =
            (Vec::with_capacity(4), || if counts { tape.take_flops() } else { Vec::new() });
        let ids = tape.constant("token ids", shapes.text, DType::Int64);
        let embedded = counts.then(|| self.ends.embed(tape, &ids, &|_, _| {}));
        let embedded = embedded.map(|embedded| self.ends.turned(tape, embedded, &ids));
        flops.push(counted());
        if is_listed {
            list.embedding = Listed::new(tape, with, (shapes, &[])).embedding();
            if !with.training && with.images.per_sequence > 0 {
                let embedding = std::mem::take(&mut list.embedding);
                list.embedding = Listed::new(tape, with, (shapes, &[])).with_images(embedding);
            }
        }
        let hidden = tape.constant("hidden states", shapes.hidden, self.build.with.parameter);
        for (((_, block), with), kind) in self.blocks.iter().zip(of_kinds).zip(&mut list.kinds) {
            // No product reads a table.
            // Layers with heads of their own have other shapes, and so have those of an encoder.
            let shapes = if kind.of.other_heads || kind.of.source {
                Build::again(tape, with).shapes
            } else {
                shapes
            };
            let hidden = if kind.of.source {
                &tape.constant("hidden states", shapes.hidden, with.parameter)
            } else {
                &hidden
            };
            drop(block.run(tape, hidden, &Tables::default()));
            flops.push(counted());
            if is_listed {
                (kind.ops, kind.first_half) =
                    Listed::new(tape, with, (shapes, &tape.take_products())).block(kind.of);
            }
        }
        if let Some(embedded) = embedded {
            drop(self.ends.end(tape, (embedded, None), &()));
        }
        flops.push(counted());
        if is_listed {
            list.head = Listed::new(tape, with, (shapes, &[])).head();
        }
        flops
    }
}

/// Adds FLOPs to the operation of their name. In backward a product runs again for each operand
/// that wants a gradient: both, but for the model's own weights where these are frozen, and none
/// where no gradient comes.
fn add(with: &Lowering, ops: &mut Vec<Op>, flops: Vec<OpName>) {
    let of_weights = if with.tuning.freezes_model() { 1.0 } else { 2.0 };
    for OpName { name, source, forward: [weights, attention, adapters, alone, once], .. } in flops {
        let met = if CROSSES.contains(&name) { with.source_length } else { with.met() };
        let (attention, attention_core) = (attention * to_f64(met), attention > 0.0);
        let forward = Flops(weights + attention + adapters + alone + once);
        let backward = Flops(weights * of_weights + 2.0 * (attention + adapters) + once);
        match ops.iter_mut().find(|op| op.name == name) {
            Some(op) => {
                (op.forward, op.backward, op.attention_core) = (forward, backward, attention_core);
            }
            None => ops.push(Op {
                name,
                tensors: Vec::new(),
                forward,
                backward,
                attention_core,
                source,
            }),
        }
    }
}

/// The layer of the operations behind blocks of these kinds.
pub(super) fn behind(kinds: &[(LayerKind, u64)]) -> u16 {
    u16::try_from(kinds.len()).unwrap_or(u16::MAX - 1) + 1
}

/// How tensor-parallel ranks share a parameter, or what a list or a cache holds: by its heads, its
/// feed-forward columns or its tokens' rows, if it has any.
pub(super) fn split(shape: &Shape, role: Role, with: &Lowering) -> Split {
    let (heads, kv_heads, is_weight) = (with.heads().1, with.kv_heads().1, role == Role::Parameter);
    let of = |dim: &Dim| match dim.0 {
        "num_experts" if is_weight && with.expert_parallel && shape.dims().count() > 2 => {
            Some(Split::Heads(dim.1))
        }
        "shared_expert_intermediate_size" if is_weight && with.dispatches => {
            Some(Split::Replicated)
        }
        "num_attention_heads" | "columns of all heads" | "columns of heads" => {
            Some(Split::Heads(heads))
        }
        "num_key_value_heads" => Some(Split::Heads(kv_heads)),
        "q+k+v width" if is_weight => Some(Split::Joint { heads, kv_heads }),
        "q+k+v width"
        | "columns into the state"
        | "intermediate_size"
        | "gate and up width"
        | "moe_intermediate_size"
        | "gate and up"
        | "shared_expert_intermediate_size"
        | "vocab_size"
        | "vocab_size_per_layer_input" => Some(Split::Tensor),
        _ => with.model.mixer().and_then(|mixer| split_of_state(mixer, dim)),
    };
    shape.dims().find_map(of).unwrap_or(Split::Replicated)
}

/// True if tensor-parallel ranks share a matrix `[output, input]` by its input, and not by its
/// output.
pub(crate) fn is_shared_by_input(shape: &Shape, with: &Lowering) -> bool {
    let divides = |dim: &Dim| split(&Shape::of([*dim]), Role::Parameter, with) != Split::Replicated;
    shape.dims().last().is_some_and(divides)
}

/// Parameters that learn, of the whole model with what fine-tuning adds.
pub(crate) fn trainable(with: &Lowering) -> u64 {
    let tape = Tape::default();
    let with = Lowering {
        tensor_model_parallel_size: 1,
        sequence_parallel: false,
        compiled: false,
        ..*with
    };
    let build = Build::new(&tape, &with);
    let learns = |from: u32, shared: bool| {
        let state = tape.state();
        let declared = state.parameters.iter().skip(usize::try_from(from).unwrap_or(usize::MAX));
        let learn =
            declared.filter(|found| !found.frozen && !found.beside && found.shared == shared);
        learn.map(|found| found.kept).fold(0_u64, u64::saturating_add)
    };
    let mut ends = Ends::new(&build, true, true);
    ends.finish(&build);
    let mut sum = learns(0, false);
    // Blocks alike have as many.
    let mut known: Vec<((LayerKind, bool), u64)> = Vec::new();
    let layers = if with.model.shares_blocks() { 1 } else { with.model.num_hidden_layers };
    for layer in 0..layers {
        let kind = kind(with.model, &with.tuning, layer);
        let of_kind = known.iter().find(|(of, _)| *of == kind).map(|(_, count)| *count);
        let of_kind = of_kind.unwrap_or_else(|| {
            let from = tape.parameters();
            drop(block(&build, layer));
            known.push((kind, learns(from, false)));
            learns(from, false)
        });
        sum = sum.saturating_add(of_kind);
    }
    // Each kind of block was declared once, with what blocks of its kind have together.
    sum.saturating_add(learns(0, true).saturating_mul(with.model.shared_blocks()))
}
