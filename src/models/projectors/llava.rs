//! `llava` (transformers 5.23): two matrices, of which the first reads one of the tower's layers or
//! several side by side.

use crate::models::tower_prelude::*;

/// `llava`.
pub const PROJECTOR: TowerSpec = TowerSpec {
    names: &["llava"],
    tower: "clip_vision_model",
    keys: &[
        TowerKey { size: Fed, key: "vision_feature_layer", default: TowerDefault::Count(1) },
        flag(Biased, "multimodal_projector_bias", true),
        maybe(Behind, "vision_feature_layer_behind", 1),
        TowerKey {
            size: Cut,
            key: "vision_feature_select_strategy",
            default: TowerDefault::Word("default"),
        },
        function(OutAct, "projector_hidden_act", HiddenAct::Gelu),
    ],
    follow,
    modules: &TowerModules { model_type: "llava", parts: &[READ, BIASES], buffers: &[] },
    ties: &[("llava", Ties::Either)],
    ..TowerSpec::PLAIN
};

/// Two matrices from the layers of the tower that are read.
pub const MATRICES: TowerPart = TowerPart {
    times: One,
    layers: &[Matrix("projection", Wide, Text), Matrix("second projection", Text, Text)],
};

/// The longest side of an image of any form (`size` of `PixtralImageProcessor`).
const LONGEST: u64 = 1024;

/// How these layers run.
const READ: TowerPart = TowerPart {
    times: One,
    layers: &[
        MATRICES.layers[0],
        MATRICES.layers[1],
        Runs(&[
            Step::Is(Fact::Longest(LONGEST)),
            Step::OfBlock,
            Step::WithoutFirst,
            Step::BiasedBehind(0, 0),
            Step::Function,
            Step::BiasedBehind(1, 1),
            Step::Listed,
        ]),
    ],
};

/// Their biases.
pub const BIASES: TowerPart = TowerPart {
    times: Biased,
    layers: &[Vector("projection bias", Text), Vector("second projection bias", Text), Runs(&[])],
};

/// The layers that are read stand side by side.
pub fn follow(sizes: &mut TowerSizes) {
    sizes.set(Wide, sizes.get(Hidden).saturating_mul(sizes.get(Fed)));
}
