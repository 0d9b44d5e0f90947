//! The parameters of an operation list: those that the modules declare on a tape, so that no parameter is written down twice.

use super::builder::Lowering;
use super::modules::{Build, Ends, block, kind};
use super::tape::Tape;
use super::tensor::{Dim, Kept, Op, Role, Split, Tensor};
use super::{BlockKind, OpList, Shape};
use crate::config::LayerKind;
use crate::units::Flops;

/// Operations behind the last block, whatever the order in which a family registers their parameters.
const HEAD: [&str; 3] = ["Final norm", "Pooler", "Output head and loss"];

/// Adds every parameter to the operation of its name; a name that the list does not have becomes an operation of its own.
pub(super) fn add(with: &Lowering, list: &mut OpList) {
    // Without the room that a step needs.
    let tape = Tape::default();
    let with = Lowering { tensor_model_parallel_size: 1, sequence_parallel: false, ..*with };
    let build = Build::new(&tape, &with);
    let mut ends = Ends::new(&build, true, true);
    let first = tape.parameters();
    let models: Vec<_> = list.kinds.iter().map(|kind| with.model.of_layers(kind.of)).collect();
    let withs: Vec<_> = models.iter().map(|model| Lowering { model, ..with }).collect();
    let declared = |(kind, of_kind): (&BlockKind, &Lowering<'_>)| {
        if let Some(layer) = (0..with.model.num_hidden_layers).find(|layer| with.model.kind_of(*layer) == kind.of) {
            // Shapes are made once for each build: layers with heads of their own need others.
            if kind.of.other_heads {
                drop(block(&Build::new(&tape, of_kind), layer));
            } else {
                drop(block(&build, layer));
            }
        }
        tape.parameters()
    };
    let ends_at: Vec<u32> = list.kinds.iter().zip(&withs).map(declared).collect();
    ends.finish(&build);
    let state = tape.state();
    for (parameter, at) in state.parameters.iter().zip(0_u32..).filter(|(parameter, _)| !parameter.beside) {
        let Some(storage) = usize::try_from(parameter.storage).ok().and_then(|at| state.storages.get(at)) else { continue };
        let (name, source) = state.op_name(storage.op);
        let shape = state.shape(parameter.form);
        let (ops, of_layer) = match at {
            _ if HEAD.contains(&name) => (&mut list.head, &with),
            at if at < first => (&mut list.embedding, &with),
            at => match ends_at.iter().zip(withs.iter().zip(&mut list.kinds)).find(|(end, _)| at < **end) {
                Some((_, (of_kind, kind))) => (&mut kind.ops, of_kind),
                None => (&mut list.embedding, &with),
            },
        };
        let split = split(&shape, of_layer);
        let tensor =
            Tensor { name: storage.name, role: Role::Parameter, shape, dtype: with.parameter, split, kept: Kept::Always };
        match ops.iter_mut().find(|op| op.name == name) {
            Some(op) => op.tensors.push(tensor),
            None => ops.push(Op { name, tensors: vec![tensor], forward: Flops(0.0), attention_core: false, source }),
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
        _ => None,
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
