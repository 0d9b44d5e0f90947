//! `bitnet` (transformers 5.23, `models/bitnet`): llama's block with squared ReLU, and a norm
//! before the last product of each half.

use crate::models::prelude::*;

/// `bitnet`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["bitnet"],
    class: "BitNet",
    labels: &[("bitnet", "BitNet")],
    modules: &Modules {
        model_type: "bitnet",
        choice: FamilyChoice { rank: 70, word: "bitnet", label: "BitNet" },
        norms_before_last_products: true,
        tensor_plan: None,
        shape: Some(ShapeRule {
            mlp_bias: Some(false),
            may_norm_queries_and_keys: false,
            ..ShapeRule::PLAIN
        }),
        ..Modules::PLAIN
    },
    // The norm of attention's output is as wide as the residual stream.
    heads_fill_hidden: true,
    sizes: Sizes::of([2560, 6912], 30, 20, 128_256, 2048).kv(5),
    act: HiddenAct::Relu2,
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    ..FamilySpec::PLAIN
};
