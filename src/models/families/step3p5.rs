//! `step3p5`, the text part of `step3p7` (transformers 5.23): a gate for every head of attention,
//! and behind the first dense layers experts beside a shared one.

use crate::models::prelude::*;

/// `step3p5`.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["step3p5", "step3p7"],
    class: "Step3p5",
    saved_with: &["Step3p7Flash"],
    labels: &[("step3p5", "Step 3.5"), ("step3p7", "Step 3.7")],
    modules: &Modules {
        model_type: "step3p5",
        choice: FamilyChoice { rank: 2104, word: "step3p5", label: "Step 3.5" },
        query_key_norm: QueryKeyNorm::HeadByHead,
        rotation: RotationStyle::Whole,
        other_heads_rotate_whole: false,
        experts: ExpertModules {
            correction_is_parameter: false,
            ..super::laguna::FAMILY.modules.experts
        },
        shape: Some(ShapeRule { other_heads: false, ..MODULES_OF_HEADS }),
        measured: Measured { written_out: false, fused_kernels: false, tensor_parallel: false },
        ..*super::laguna::FAMILY.modules
    },
    sizes: Sizes::of([4096, 11_264], 45, 64, 128_815, 128_000).kv(8).head(128),
    attention_bias: ATTENTION_BIAS,
    output_bias: ATTENTION_BIAS,
    mlp_bias: Flag::Key("mlp_bias", false),
    qk_norm: Flag::Is(true),
    window: Window::ListedOnly(512),
    experts: Some(Experts {
        width: 1280,
        shared_width: 1280,
        first_dense: 3,
        chosen_by: &["moe_layers_enum", "mlp_layer_types", "first_k_dense_replace"],
        ..Experts::of(288, 8)
    }),
    only: &[Only {
        key: "num_sliding_attention_heads",
        values: &["64"],
        otherwise: Otherwise::NotCounted,
        unless: None,
    }],
    not_looked_at: &["mtp_layer_types", "mtp_mlp_layer_types", "per_layer_config"],
    ..FamilySpec::PLAIN
};

const MODULES_OF_HEADS: ShapeRule =
    ShapeRule { experts: ExpertsRule::Optional, output_bias_as_others: true, ..ShapeRule::PLAIN };
