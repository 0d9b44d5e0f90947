//! Storages, nodes, parameters and the running totals of a tape.

use std::collections::BTreeMap;

use crate::config::Dispatch;
pub(crate) use crate::ops::tape::records::{
    Arrival, Cut, Grad, OpName, Parameter, Shards, Storage, Use, When,
};
use crate::ops::tensor::{Dim, Shape};
use crate::sources::{self, Source};
use crate::units::DType;

use super::compiled::Fusion;
use super::costs::Costs;
use super::flops::{FACTORS, Factors, LayerProduct};
use super::keeps::{Frame, KeepsProducts};
pub(crate) use super::nodes::{Node, Operand, Rule};
use super::scratch::Scratch;
pub(crate) use super::segments::{Entry, Held, Segment};
use super::{Form, Param};

/// No storage, no node.
pub(crate) const NONE: u32 = u32::MAX;
/// Set in a node's number that stands for a parameter.
const LEAF: u32 = 1 << 31;

/// The purpose of memory, in the words of PyTorch's `MemTracker`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// Weights.
    Parameter,
    /// Gradients of weights.
    Gradient,
    /// States of the optimizer.
    OptimizerState,
    /// Made in forward.
    Activation,
    /// Made in backward or by the optimizer.
    #[default]
    Temporary,
    /// Inputs, buffers of modules, step counters.
    Buffer,
    /// Made by a forward that backward runs again.
    Recomputed,
    /// Weights and gradients on their way between ranks.
    Gathered,
    /// Taken by a kernel for itself while it runs.
    Scratch,
}

/// How many kinds there are.
pub(crate) const KINDS: usize = 9;

/// Bytes by kind, wide enough that no sum of sizes overflows.
pub(crate) type Totals = [i128; KINDS];

/// The recomputed tensors of a frame, collected until all are there.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub tensors: Vec<u32>,
    pub wanted: u32,
}

/// All that a tape knows.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub storages: Vec<Storage>,
    pub forms: Vec<(Shape, u64)>,
    /// Shapes found by their [`Shape::slot`]: the number of the last of each, and of the one before
    /// each; numbers begin with 1.
    slots: Slots,
    before: Vec<Form>,
    pub nodes: Vec<Node>,
    pub parameters: Vec<Parameter>,
    pub ops: Vec<OpName>,
    pub segments: Vec<Segment>,
    /// Memory of each of them, once it is summed up.
    pub held: Vec<Held>,
    /// All that happened to storages, in order.
    pub log: Vec<Entry>,
    /// Kind of the memory that is taken now.
    pub kind: Kind,
    /// The stream that it is used on: 0 is the one that computes. Memory of one stream serves no
    /// other.
    pub stream: u8,
    pub op: u16,
    pub layer: u16,
    pub frames: Vec<Frame>,
    pub(super) open_frame: Option<u32>,
    /// True while operations want no gradients (`torch.no_grad`).
    pub(super) no_grad: bool,
    pub(super) recording: Option<Recording>,
    /// Set while a block of which products are kept runs, or runs again.
    pub(super) keeps: Option<KeepsProducts>,
    /// True if a part that runs again runs to its end.
    pub(super) to_the_end: bool,
    pub(super) stopped: bool,
    pub(super) autocast: Option<DType>,
    /// True if linear layers save what they are given, whether or not their weight learns.
    pub(super) linears_save_inputs: bool,
    pub(super) casts: Vec<(u32, u32, u32)>,
    /// The shape into which the next product gathers its input.
    pub gather: Option<Form>,
    /// Parameters of the first block of a kind, and how far behind them those of the block that
    /// runs now lie.
    pub copies: (u32, u32, u32),
    /// How parameters that are declared now are shared out.
    pub shards: Option<Shards>,
    /// True if parameters that are declared now want no gradient.
    pub frozen: bool,
    /// True while parameters are declared that blocks of several layers have together.
    pub shared: bool,
    pub arrival: Arrival,
    /// Whose kernels run.
    pub(super) dispatch: Dispatch,
    /// How much of the memory that kernels take for themselves is played.
    pub(super) scratch: Scratch,
    /// The last workspaces of products without and with a bias, or any storage that is none.
    pub(super) workspaces: [u32; 2],
    /// True if a thread that multiplies keeps its workspaces. `kept_workspaces` tells which of the
    /// threads of forward and backward has the workspace of products without and with a bias.
    pub(super) keeps_workspaces: bool,
    pub(super) kept_workspaces: [[bool; 2]; 2],
    /// The costs in time of the run, where they are recorded.
    pub(super) costs: Option<Box<Costs>>,
    /// The kind that products with weights are counted in.
    pub(super) factors: Factors,
    /// Tokens that every query meets, where these are not those of the text.
    pub(super) met: Option<(u64, Factors)>,
    /// Products of layers, where modules run for these alone.
    pub(super) products: Option<Vec<LayerProduct>>,
    /// Uses of parameters, where they are noted.
    pub uses: Option<Vec<Use>>,
    /// Frozen parameters that were read since the last node, where uses are noted.
    pub(super) frozen_read: Vec<Param>,
    /// Frozen parameters that a node's operation read: its backward needs them.
    pub(super) frozen_of: BTreeMap<u32, Vec<Param>>,
    /// Gradients of the parts of split tensors, by the node that split them; and those of the node
    /// that runs.
    pub(super) parts: Vec<(u32, Vec<Option<Grad>>)>,
    pub(super) joined: Vec<Option<Grad>>,
    /// Parameters whose gradients the last node of backward completed.
    pub(super) arrived: Vec<Param>,
    /// Tensors that are no parameters and want a gradient, and their gradients, kept until the
    /// graph goes.
    pub(super) leaves: Vec<u32>,
    /// True if gradients of leaves stay until the next backward has ended, and those that do.
    pub(super) hands_on: bool,
    pub(super) handed_on: Option<Vec<u32>>,
    /// Tensors that nodes of a part that runs again keep until that has run.
    pub(super) kept_again: Vec<u32>,
    /// True if products in float8 have a rule of their own, so that others run in the format of
    /// activations.
    pub(super) casts_apart: bool,
    /// True if the operations that run now are compiled.
    pub(super) compiled: bool,
    /// The first storage that the current compiled part could make.
    pub(super) compiled_from: u32,
    /// True if checkpointing wraps compiled parts, so that their forward runs again whole.
    pub(super) whole_again: bool,
    /// The tensors from which those taken now are made, while these are fused into the kernels that
    /// read them.
    pub(super) fusing: Option<Vec<u32>>,
    /// Tensors that are fused away.
    pub(super) fusions: Vec<Fusion>,
    /// Gradients of parameters that wait for the end of a compiled part.
    pub(super) at_the_end: Vec<(Param, Grad)>,
}

/// How many slots shapes are found by: enough that a step's shapes seldom share one.
const SLOTS: usize = 128;

/// The number of the last shape of each slot.
#[derive(Debug)]
struct Slots([Form; SLOTS]);

impl Default for Slots {
    fn default() -> Self {
        Self([0; SLOTS])
    }
}

/// The node number of a parameter.
pub(super) const fn leaf(param: Param) -> u32 {
    LEAF | param
}

/// The parameter of a node number, if it is one.
pub(super) const fn as_leaf(node: u32) -> Option<Param> {
    if node != NONE && node & LEAF != 0 { Some(node & !LEAF) } else { None }
}

/// An index.
pub(super) fn at(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

/// A number of things as an index; there are never more than a `u32` holds.
pub(super) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(NONE)
}

/// Bytes of so many elements.
pub(super) fn bytes_of(elements: u64, dtype: DType) -> u64 {
    elements.saturating_mul(dtype.bits()).div_ceil(8)
}

impl State {
    /// Room for so many storages, and for what goes with them, so that they need not move as they
    /// grow.
    pub fn make_room(&mut self, storages: usize) {
        self.workspaces = [NONE; 2];
        self.storages.reserve(storages);
        self.nodes.reserve(storages * 3 / 8);
        self.log.reserve(2 * storages);
        self.parameters.reserve(64);
        self.forms.reserve(64);
        self.before.reserve(64);
        self.ops.reserve(24);
        self.segments.reserve(16);
    }

    pub fn form(&mut self, shape: Shape) -> Form {
        let slot = &mut self.slots.0[shape.slot() % SLOTS];
        let mut number = *slot;
        while let Some(at) = number.checked_sub(1)
            && let Some((known, _)) = self.forms.get(usize::from(at))
        {
            if known.is(&shape) {
                return at;
            }
            number = self.before.get(usize::from(at)).copied().unwrap_or(0);
        }
        let at = Form::try_from(self.forms.len()).unwrap_or(Form::MAX);
        self.forms.push((shape, shape.elements().0));
        self.before.push(std::mem::replace(slot, at.saturating_add(1)));
        at
    }

    /// Elements of a shape.
    pub fn elements(&self, form: Form) -> u64 {
        self.forms.get(usize::from(form)).map_or(0, |(_, elements)| *elements)
    }

    pub fn at(&mut self, name: &'static str, source: Source) {
        // A name has one place in memory as a rule; the compiler may give it one more where several
        // files use it.
        let is = |op: &OpName| std::ptr::eq(op.name, name);
        // Blocks go through their operations in the order of the first.
        let next = usize::from(self.op) + 1;
        let known = if self.ops.get(next).is_some_and(is) {
            Some(next)
        } else {
            self.ops.iter().position(is)
        };
        let found =
            known.or_else(|| self.ops.iter().position(|op| op.name == name)).unwrap_or_else(|| {
                self.ops.push(OpName { name, source, forward: [0.0; FACTORS] });
                self.ops.len() - 1
            });
        self.op = u16::try_from(found).unwrap_or(0);
    }

    /// Takes memory, in the kind that is made now.
    pub fn allocate(&mut self, name: &'static str, form: Form, dtype: DType) -> u32 {
        self.allocate_part(name, form, dtype, self.elements(form))
    }

    /// Takes memory for so many elements of a tensor of that shape.
    pub fn allocate_part(
        &mut self,
        name: &'static str,
        form: Form,
        dtype: DType,
        elements: u64,
    ) -> u32 {
        if self.stopped {
            return NONE;
        }
        let bytes = bytes_of(elements, dtype);
        if self.costs.is_some() && self.kind != Kind::Parameter {
            self.wrote(bytes);
        }
        let id = count(self.storages.len());
        let (kind, op, layer, stream) = (self.kind, self.op, self.layer, self.stream);
        let fused = self.fused_away();
        let fusion = fused.unwrap_or(NONE);
        self.storages.push(Storage {
            bytes,
            refs: 1,
            kind,
            born: kind,
            dtype,
            form,
            op,
            taken_in: op,
            layer,
            stream,
            name,
            fusion,
        });
        if fused.is_none() {
            self.log.push(Entry::Taken(id));
        }
        id
    }

    pub fn hold(&mut self, storage: u32) {
        if let Some(storage) = self.storages.get_mut(at(storage)) {
            storage.refs += 1;
        }
    }

    pub fn release(&mut self, id: u32) {
        let Some(storage) = self.storages.get_mut(at(id)) else { return };
        storage.refs = storage.refs.saturating_sub(1);
        let left = storage.refs;
        if storage.fusion != NONE {
            self.release_fused(id, left);
        } else if left == 0 {
            self.log.push(Entry::Freed(id));
        }
    }

    /// Memory becomes a gradient that is kept.
    pub fn turn_into_gradient(&mut self, id: u32) {
        if id != NONE {
            self.log.push(Entry::Turned(id));
        }
    }

    /// A node of these operands, unless none of them wants a gradient; in a recomputed forward none
    /// is kept.
    pub(super) fn node(&mut self, rule: Rule, operands: [Operand; 3]) -> u32 {
        if self.costs.is_some() {
            self.runs(rule, &operands);
        }
        if self.no_grad || operands.iter().all(|operand| operand.node == NONE) {
            self.frozen_read.clear();
            return NONE;
        }
        if self.recording.is_some() {
            self.frozen_read.clear();
            return 0;
        }
        for operand in &operands {
            if let Some(parameter) =
                as_leaf(operand.node).and_then(|param| self.parameters.get_mut(at(param)))
            {
                parameter.uses += 1;
            }
        }
        let frame = self.open_frame.unwrap_or(NONE);
        let (op, layer) = (self.op, self.layer);
        let compiled = self.compiled;
        // Written in place: a copy of what was just written elsewhere would have to wait for it.
        self.nodes.push(Node::NOTHING);
        if let Some(node) = self.nodes.last_mut() {
            (node.rule, node.operands) = (rule, operands);
            (node.op, node.layer, node.frame, node.compiled) = (op, layer, frame, compiled);
        }
        let node = count(self.nodes.len()) - 1;
        self.note_frozen(node);
        node
    }

    /// A node with nothing before it.
    pub fn source(&mut self) -> u32 {
        self.nodes.push(Node { op: self.op, layer: self.layer, ..Node::NOTHING });
        count(self.nodes.len()) - 1
    }

    /// The dimensions of a shape.
    pub fn shape(&self, form: Form) -> Shape {
        self.forms.get(usize::from(form)).map_or_else(|| Shape::of([Dim("", 1)]), |form| form.0)
    }

    /// The name and source of an operation.
    pub fn op_name(&self, op: u16) -> (&'static str, Source) {
        self.ops
            .get(usize::from(op))
            .map_or(("", sources::PYTORCH_AUTOGRAD), |op| (op.name, op.source))
    }
}
