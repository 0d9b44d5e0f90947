//! DeepSpeed's ZeRO stage 3 (deepspeed/runtime/zero/stage3.py): ranks share out weights too, and
//! gather them before use.

use super::{
    Buckets, Building, CarriedOutBy, Forbidden, FrameworkRule, GatheredInto, Gathering, Gathers,
    Messages, NO_PIPELINE, Pieces, Reduction, ShardingSpec, Shares, With,
};
use crate::sources;

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "3",
    label: "ZeRO-3",
    help: "Ranks share out optimizer states, gradients and weights.",
    place: 3,
    short: "ZeRO-3",
    starts_form: false,
    is_searched: true,
    zero_stage: 3,
    shares: Shares { optimizer: true, gradients: true, parameters: true },
    pieces: Pieces::RowsOfEachTensor,
    gathers: Some(Gathers {
        into: GatheredInto::Tensors,
        keeps_ends: false,
        casts_inputs: false,
        was_measured: false,
        is_limited: true,
        note: "Stage 3 gathers weights before use, at most one billion parameters at once (DeepSpeed's default).",
        source: sources::DEEPSPEED,
    }),
    messages: Messages {
        gradients: Reduction::ScatterEveryMicroBatch,
        weights: Gathering::BeforeUse,
    },
    buckets: Buckets::Lasting,
    building: Building::AsItIs,
    offloads_together: false,
    casts_all_gradients: false,
    casts_as_it_gathers: false,
    forbids: &[
        NO_PIPELINE,
        // peft's `Linear4bit` and DeepSpeed's stage 3 do not know each other's storage.
        Forbidden {
            with: With::PackedWeights,
            by: CarriedOutBy::Anyone,
            rule: FrameworkRule {
                says: "DeepSpeed's stage 3 does not share out weights of four bits; use FSDP, or a stage below 3",
                source: sources::DEEPSPEED,
            },
        },
    ],
    fix: None,
    way_out: None,
};
