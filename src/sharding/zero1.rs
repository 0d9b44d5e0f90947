//! DeepSpeed's ZeRO stage 1 (deepspeed/runtime/zero/stage_1_and_2.py), and Megatron-LM's
//! distributed optimizer: ranks share out master weights and optimizer states.

use super::{
    Buckets, Building, Gathering, Messages, NO_GROUPS, Pieces, Reduction, ShardingSpec, Shares,
    WEIGHTS_STAY,
};

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "1",
    label: "ZeRO-1",
    help: "Ranks share out the optimizer states.",
    place: 1,
    short: "ZeRO-1",
    starts_form: false,
    is_searched: true,
    zero_stage: 1,
    shares: Shares { optimizer: true, gradients: false, parameters: false },
    pieces: Pieces::OfOneVector,
    gathers: None,
    messages: Messages { gradients: Reduction::ScatterOnce, weights: Gathering::OnceAStep },
    buckets: Buckets::WhileReducing,
    building: Building::IntoOneVector,
    offloads_together: false,
    casts_all_gradients: false,
    casts_as_it_gathers: false,
    forbids: &[NO_GROUPS, WEIGHTS_STAY],
    fix: Some("ZeRO stage 1"),
    way_out: Some("ZeRO stage 1"),
};
