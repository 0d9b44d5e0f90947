//! The layers that ranks share, as the record of the model has them: whole.

use crate::config::{Feed, Keys, LayerKind};
use crate::ops::OpList;
use crate::ops::tensor::{Dim, Op, Role, Tensor};

/// Matrices of one operation that read one input, side by side; whole, or this rank's part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Linear {
    /// Experts that have such matrices each.
    pub experts: Option<Dim>,
    /// Columns that they make of a row, and those that they read of it.
    pub columns: Dim,
    pub depth: Dim,
    pub is_biased: bool,
    /// True if the format of products below 16 bit applies: to all but routers
    /// (`router_gating_linear`).
    pub is_narrow: bool,
}

/// The operations of a block of such a kind; none where the model has none.
fn block(list: &OpList, is: impl Fn(LayerKind) -> bool) -> &[Op] {
    list.kinds.iter().find(|kind| is(kind.of)).map_or(&[], |kind| &kind.ops)
}

/// A block with such a feed-forward layer.
pub(super) fn with(list: &OpList, feed: Feed) -> &[Op] {
    block(list, |kind| kind.feed == feed)
}

/// A block with attention.
pub(super) fn attention(list: &OpList) -> &[Op] {
    block(list, |kind| kind.keys != Keys::None && !kind.other_heads)
}

/// True if an operation of that name has parameters.
pub(super) fn has(ops: &[Op], name: &'static str) -> bool {
    parameters(ops, name).next().is_some()
}

fn parameters<'a>(ops: &'a [Op], name: &'static str) -> impl Iterator<Item = &'a Tensor> {
    let of = ops.iter().filter(move |op| op.name == name);
    of.flat_map(|op| &op.tensors).filter(|tensor| tensor.role == Role::Parameter)
}

/// True for a bias, of one layer or of all experts.
fn is_bias(tensor: &Tensor) -> bool {
    tensor.name.ends_with("bias") || tensor.name.ends_with("biases")
}

/// Each matrix of that operation, in the order in which they multiply.
pub(super) fn each(ops: &[Op], name: &'static str) -> Vec<Linear> {
    let is_biased = parameters(ops, name).any(is_bias);
    let linear = |tensor: &Tensor| {
        let (experts, columns, depth) = match *tensor.shape.dims().copied().collect::<Vec<Dim>>() {
            [columns, depth] => (None, columns, depth),
            [experts, columns, depth] => (Some(experts), columns, depth),
            _ => return None,
        };
        Some(Linear {
            experts,
            columns,
            depth,
            is_biased,
            is_narrow: tensor.name != "router weight",
        })
    };
    parameters(ops, name).filter(|tensor| !is_bias(tensor)).filter_map(linear).collect()
}

/// All matrices of that operation as one; `None` where a block has none.
pub(super) fn joint(ops: &[Op], name: &'static str) -> Option<Linear> {
    let join = |all: Linear, more: Linear| {
        let columns = Dim(all.columns.0, all.columns.1.saturating_add(more.columns.1));
        Linear { columns, ..all }
    };
    each(ops, name).into_iter().reduce(join)
}
