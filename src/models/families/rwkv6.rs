//! `rwkv6` (code of its own on the hub, `RWKV/rwkv-6-world-1b6`): sums of every head with decays
//! that tokens make, and a gate on the feed-forward layer. Its parameters are counted alone.

use crate::models::prelude::*;

/// The width of the model whose narrow layers are twice as wide.
const LARGE: u64 = 4096;

/// Mixing of time and of channels, and a norm behind the embedding.
fn rest(model: &Counted, _: &Own, said: Said<'_>) -> u64 {
    let h = model.hidden_size;
    let width = said("", "attention_hidden_size").unwrap_or(h);
    let head = said("", "head_size").unwrap_or(64).max(1);
    let narrow = if h == LARGE { 64 } else { 32 };
    let mixing = 6 * h + 10 * h * narrow;
    let decay = width + 2 * narrow * (h + width);
    let heads = width / head * head;
    let time = mixing + decay + heads + 4 * h * width + width * h + 2 * h;
    let channels = 2 * h + h * h;
    model.num_hidden_layers * (time + channels) + 2 * h
}

/// `rwkv6`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["rwkv6"],
    class: "Rwkv6",
    own_rule: OwnSizes::RestOfFile(rest),
    inner: InnerWidth::Factor(3.5),
    normalization: Normalization::LayerNorm,
    mlp: MlpKind::Plain,
    act: HiddenAct::Relu2,
    positions: Positions::Are(PositionEmbedding::None),
    sizes: Sizes::of([4096, 0], 32, 1, 65_536, 4096),
    ..super::counted::FAMILY
};
