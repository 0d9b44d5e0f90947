//! The feed-forward half of a block with experts.

use super::{Forward, mlp};
use crate::config::{MlpKind, Moe};
use crate::ops::tensor::{Dim, Kept, Split};
use crate::sources;
use crate::units::DType;

/// Router, routed and shared experts, from the first residual sum to the block's output.
///
/// Every token goes through the same number of experts, so what is saved grows with that number and not with all experts.
pub(super) fn run(on: &Forward<'_, '_>, moe: &Moe) {
    mlp::norm(on);
    router(on, moe);
    routed(on, moe);
    if moe.shared_expert_intermediate_size > 0 {
        shared(on, moe);
    }
    mlp::norm_behind(on);
}

/// The matrices that lead into an expert.
const fn inward(on: &Forward<'_, '_>) -> Dim {
    let matrices = match on.with.model.mlp {
        MlpKind::Gated => 2,
        MlpKind::Plain => 1,
    };
    Dim("gate and up", matrices)
}

/// The router, which every tensor rank holds; scores in fp32.
fn router(on: &Forward<'_, '_>, moe: &Moe) {
    let with = on.with;
    on.at("Router", sources::ARITHMETIC);
    let scores = [with.s(), with.b(), Dim("num_experts", moe.num_experts)];
    on.saves_hidden("feed-forward input", Kept::Block);
    on.saves_as("router probabilities", scores, (Split::Replicated, Kept::Block), DType::Fp32);
    on.takes("router scores", scores, Split::Replicated, DType::Fp32);
}

/// All routed experts: what the tokens that go through them need.
fn routed(on: &Forward<'_, '_>, moe: &Moe) {
    let with = on.with;
    on.at("Experts", sources::ARITHMETIC);
    let (width, into) = (Dim("moe_intermediate_size", moe.moe_intermediate_size), inward(on));
    let chosen = Dim("num_experts_per_tok", moe.num_experts_per_tok);
    let tokens = Dim("tokens", with.s().1.saturating_mul(with.b().1));
    let (copies, inner, narrow) = ([tokens, chosen, with.h()], [tokens, chosen, into, width], [tokens, chosen, width]);
    on.saves("tokens of each expert", copies, (Split::Replicated, Kept::Block));
    on.saves("gate and up outputs", inner, (Split::Tensor, Kept::Block));
    on.saves("down inputs", narrow, (Split::Tensor, Kept::Block));
    on.takes("tokens of each expert", copies, Split::Replicated, with.activation);
    on.takes("gate and up outputs", inner, Split::Tensor, with.activation);
    on.takes("down inputs", narrow, Split::Tensor, with.activation);
}

/// The experts that every token goes through, as one of their widths together.
fn shared(on: &Forward<'_, '_>, moe: &Moe) {
    let with = on.with;
    on.at("Shared experts", sources::ARITHMETIC);
    let (width, into) = (Dim("shared_expert_intermediate_size", moe.shared_expert_intermediate_size), inward(on));
    let inner = [with.s(), with.b(), into, width];
    on.saves("shared gate and up outputs", inner, (Split::Tensor, Kept::Block));
    on.saves("shared down input", [with.s(), with.b(), width], (Split::Tensor, Kept::Block));
    on.takes("shared gate and up outputs", inner, Split::Tensor, with.activation);
}
