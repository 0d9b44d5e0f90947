//! PyTorch's `DistributedDataParallel`: every rank holds everything, and gradients are summed.
//!
//! The reducer (`torch/csrc/distributed/c10d/reducer.cpp`) makes one flat tensor per bucket when
//! the model is wrapped, and keeps it: together they are one more copy of the gradients, whatever
//! `bucket_cap_mb` says. A run whose optimizer keeps master weights has no such buckets.

use super::{
    Buckets, Building, CarriedOutBy, Forbidden, FrameworkRule, Gathering, Messages, Pieces,
    Reduction, ShardingSpec, Shares, WEIGHTS_STAY, With,
};
use crate::sources;

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "none",
    label: "None (DDP)",
    help: "Every rank holds the whole model states.",
    place: 0,
    short: "DDP",
    starts_form: false,
    is_searched: true,
    zero_stage: 0,
    shares: Shares { optimizer: false, gradients: false, parameters: false },
    pieces: Pieces::OfOneVector,
    gathers: None,
    messages: Messages { gradients: Reduction::AllReduce, weights: Gathering::Never },
    buckets: Buckets::EveryGradient,
    building: Building::AsItIs,
    offloads_together: false,
    casts_all_gradients: false,
    casts_as_it_gathers: false,
    forbids: &[
        Forbidden {
            with: With::Groups,
            by: CarriedOutBy::Anyone,
            rule: FrameworkRule {
                says: "Sharding groups need something that is sharded; use FSDP, ZeRO 3 or, in Megatron-LM, ZeRO-1, or 1 group",
                source: sources::FSDP2,
            },
        },
        WEIGHTS_STAY,
        // megatron/core/optimizer: the hybrid device optimizer rides on the distributed one.
        Forbidden {
            with: With::OptimizerInHostMemory,
            by: CarriedOutBy::Stack,
            rule: FrameworkRule {
                says: "Megatron-LM offloads its optimizer only as the distributed optimizer; use ZeRO-1",
                source: sources::MEGATRON_CORE,
            },
        },
    ],
    fix: None,
    way_out: Some("No sharding"),
};
