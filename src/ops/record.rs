//! The record of a model: its modules are declared on a tape, so that no parameter is written down twice, and run there, so that no
//! product is.

use super::builder::Lowering;
use super::modules::{Block, Build, Ends, block, kind};
use super::tape::{OpName, Tape};
use super::tensor::{Dim, Kept, Op, Role, Split, Tensor};
use super::{BlockKind, OpList, Shape, mixer};
use crate::config::LayerKind;
use crate::units::{DType, Flops};

/// Operations behind the last block, whatever the order in which a family registers their parameters.
const HEAD: [&str; 3] = ["Final norm", "Pooler", "Output head and loss"];

/// Adds the parameters of a model to the operations of their names; a name that the list does not have becomes an operation of its own.
///
/// Modules of both ends, and of each kind of block those of one, are declared on a tape.
pub(super) fn with_parameters(with: &Lowering, mut list: OpList) -> OpList {
    // Without the room that a step needs.
    let tape = Tape::default();
    Modules::declare(&tape, &whole(with), &list.kinds).add_parameters(&mut list);
    list
}

/// Adds parameters, and the FLOPs of one micro-batch's forward, all tensor-parallel ranks together: the modules run once.
pub(super) fn with_products(with: &Lowering, mut list: OpList) -> OpList {
    let tape = Tape::default();
    let whole = whole(with);
    let modules = Modules::declare(&tape, &whole, &list.kinds);
    modules.add_parameters(&mut list);
    modules.add_flops(&mut list);
    list
}

/// A lowering with nothing split over tensor-parallel ranks.
const fn whole<'a>(with: &Lowering<'a>) -> Lowering<'a> {
    Lowering { tensor_model_parallel_size: 1, sequence_parallel: false, ..*with }
}

/// The modules of a model on a tape, one block of each kind.
pub(super) struct Modules<'a> {
    pub build: Build<'a>,
    pub ends: Ends,
    /// One block of each kind, with the layer that it is.
    pub blocks: Vec<(u64, Box<dyn Block>)>,
    /// How many parameters there are before the first block, and behind each.
    places: Vec<u32>,
}

impl<'a> Modules<'a> {
    /// Declares embedding, blocks and head; parameters belong to layer 0, to 1 and those behind it, and to the last.
    pub fn declare(tape: &'a Tape, with: &'a Lowering<'a>, kinds: &[BlockKind]) -> Self {
        let build = Build::new(tape, with);
        let mut ends = Ends::new(&build, true, true);
        let mut places = Vec::with_capacity(kinds.len() + 1);
        places.push(tape.parameters());
        let mut blocks = Vec::with_capacity(kinds.len());
        for (kind, layer) in kinds.iter().zip(1..) {
            tape.set_layer(layer);
            let first = (0..with.model.num_hidden_layers).find(|layer| with.model.kind_of(*layer) == kind.of);
            blocks.extend(first.map(|layer| (layer, block_of(&build, kind.of, layer))));
            places.push(tape.parameters());
        }
        tape.set_layer(u16::try_from(kinds.len()).unwrap_or(u16::MAX - 1) + 1);
        ends.finish(&build);
        Self { build, ends, blocks, places }
    }

    fn add_parameters(&self, list: &mut OpList) {
        let (state, with) = (self.build.tape.state(), self.build.with);
        let models: Vec<_> = list.kinds.iter().map(|kind| with.model.of_layers(kind.of)).collect();
        let of_kind: Vec<_> = models.iter().map(|model| Lowering { model, ..*with }).collect();
        for (parameter, at) in state.parameters.iter().zip(0_u32..).filter(|(parameter, _)| !parameter.beside) {
            let Some(storage) = usize::try_from(parameter.storage).ok().and_then(|at| state.storages.get(at)) else { continue };
            let (name, source) = state.op_name(storage.op);
            let shape = state.shape(parameter.form);
            // The first place that lies behind it: 0 before the first block.
            let behind = self.places.iter().position(|end| at < *end);
            let block = behind.and_then(|place| place.checked_sub(1));
            let of_block = block.and_then(|block| Some((of_kind.get(block)?, list.kinds.get_mut(block)?)));
            let (ops, of_layer) = match of_block {
                _ if HEAD.contains(&name) => (&mut list.head, with),
                Some((of_kind, kind)) => (&mut kind.ops, of_kind),
                None => (&mut list.embedding, with),
            };
            let split = split(&shape, of_layer);
            let (role, dtype, kept) = (Role::Parameter, with.parameter, Kept::Always);
            let tensor = Tensor { name: storage.name, role, shape, dtype, split, kept };
            match ops.iter_mut().find(|op| op.name == name) {
                Some(op) => op.tensors.push(tensor),
                None => ops.push(Op { name, tensors: vec![tensor], source, ..Op::NONE }),
            }
        }
    }

    /// Runs everything once, and adds the FLOPs of each operation's products.
    fn add_flops(&self, list: &mut OpList) {
        let (tape, with) = (self.build.tape, self.build.with);
        tape.count_only();
        let embedded = self.ends.embed(tape, &tape.constant("token ids", self.build.shapes.text, DType::Int64));
        let frozen = with.tuning.freezes_model();
        let add = |ops: &mut Vec<Op>| add(ops, tape.take_flops(), frozen);
        add(&mut list.embedding);
        for ((layer, block), kind) in self.blocks.iter().zip(&mut list.kinds) {
            let tables = &embedded.tables[usize::from(with.model.sliding_layers.contains(*layer))];
            drop(block.run(tape, &embedded.hidden, tables));
            add(&mut kind.ops);
        }
        drop(self.ends.end(tape, embedded, None));
        add(&mut list.head);
    }
}

/// The block of that layer; layers with heads of their own have other shapes, which are made once for each build.
fn block_of(build: &Build<'_>, kind: LayerKind, layer: u64) -> Box<dyn Block> {
    if !kind.other_heads {
        return block(build, layer);
    }
    let model = build.with.model.of_layers(kind);
    block(&Build::new(build.tape, &Lowering { model: &model, ..*build.with }), layer)
}

/// Adds FLOPs to the operation of their name. In backward a product runs again for each operand that wants a gradient: both, but for
/// the model's own weights where these are frozen, and none where no gradient comes.
fn add(ops: &mut Vec<Op>, flops: Vec<OpName>, frozen: bool) {
    for OpName { name, source, forward: [weights, attention, adapters, alone], .. } in flops {
        let attention_core = attention > 0.0;
        let forward = Flops(weights + attention + adapters + alone);
        let backward = Flops(weights * if frozen { 1.0 } else { 2.0 } + 2.0 * (attention + adapters));
        match ops.iter_mut().find(|op| op.name == name) {
            Some(op) => (op.forward, op.backward, op.attention_core) = (forward, backward, attention_core),
            None => ops.push(Op { name, tensors: Vec::new(), forward, backward, attention_core, source }),
        }
    }
}

/// How tensor-parallel ranks share a parameter: by its heads, its feed-forward columns or its tokens' rows, if it has any.
fn split(shape: &Shape, with: &Lowering) -> Split {
    let (heads, kv_heads) = (with.heads().1, with.kv_heads().1);
    let of = |dim: &Dim| match dim.0 {
        "num_experts" if with.expert_parallel && shape.dims().count() > 2 => Some(Split::Heads(dim.1)),
        "shared_expert_intermediate_size" if with.dispatches => Some(Split::Replicated),
        "num_attention_heads" | "columns of all heads" => Some(Split::Heads(heads)),
        "num_key_value_heads" => Some(Split::Heads(kv_heads)),
        "q+k+v width" => Some(Split::Joint { heads, kv_heads }),
        "intermediate_size"
        | "gate and up width"
        | "moe_intermediate_size"
        | "gate and up"
        | "shared_expert_intermediate_size"
        | "vocab_size" => Some(Split::Tensor),
        _ => with.model.mixer().and_then(|mixer| mixer::split(mixer, dim)),
    };
    shape.dims().find_map(of).unwrap_or(Split::Replicated)
}

/// Parameters that learn, of the whole model with what fine-tuning adds.
pub(crate) fn trainable(with: &Lowering) -> u64 {
    let tape = Tape::default();
    let with = whole(with);
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
