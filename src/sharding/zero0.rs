//! DeepSpeed's stage 0: every rank holds everything, as under DDP, and DeepSpeed's optimizer keeps
//! master weights.

use super::{
    Buckets, Building, CarriedOutBy, Forbidden, FrameworkRule, Gathering, Messages, NO_GROUPS,
    Pieces, Reduction, ShardingSpec, Shares, WEIGHTS_STAY, With,
};
use crate::sources;

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "0",
    label: "ZeRO-0 (DeepSpeed)",
    help: "Every rank holds the whole model states; DeepSpeed's step copies all gradients into fp32.",
    place: 6,
    short: "ZeRO-0",
    starts_form: false,
    is_searched: false,
    zero_stage: 0,
    shares: Shares { optimizer: false, gradients: false, parameters: false },
    pieces: Pieces::OfOneVector,
    gathers: None,
    messages: Messages { gradients: Reduction::AllReduce, weights: Gathering::Never },
    buckets: Buckets::None,
    building: Building::AsItIs,
    offloads_together: false,
    casts_all_gradients: true,
    casts_as_it_gathers: false,
    forbids: &[
        NO_GROUPS,
        WEIGHTS_STAY,
        Forbidden {
            with: With::Anything,
            by: CarriedOutBy::Stack,
            rule: FrameworkRule {
                says: "Megatron-LM trains without DeepSpeed; take DDP",
                source: sources::MEGATRON_CORE,
            },
        },
    ],
    fix: None,
    way_out: None,
};
