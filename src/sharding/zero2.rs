//! DeepSpeed's ZeRO stage 2 (deepspeed/runtime/zero/stage_1_and_2.py): ranks share out gradients
//! too, as backward makes them.

use super::{
    Buckets, Building, Gathering, Messages, NO_GROUPS, NO_PIPELINE, Pieces, Reduction,
    ShardingSpec, Shares, WEIGHTS_STAY,
};

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "2",
    label: "ZeRO-2",
    help: "Ranks share out optimizer states and gradients.",
    place: 2,
    short: "ZeRO-2",
    starts_form: false,
    is_searched: true,
    zero_stage: 2,
    shares: Shares { optimizer: true, gradients: true, parameters: false },
    pieces: Pieces::OfOneVector,
    gathers: None,
    messages: Messages {
        gradients: Reduction::ScatterEveryMicroBatch,
        weights: Gathering::OnceAStep,
    },
    buckets: Buckets::WhileReducing,
    building: Building::IntoOneVector,
    offloads_together: false,
    casts_all_gradients: false,
    casts_as_it_gathers: false,
    forbids: &[NO_GROUPS, WEIGHTS_STAY, NO_PIPELINE],
    fix: Some("ZeRO stage 2"),
    way_out: Some("ZeRO stage 2"),
};
