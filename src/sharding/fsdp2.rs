//! PyTorch's FSDP2 (`torch.distributed.fsdp.fully_shard`): ranks share out everything, gathered and
//! reduced block by block.

use super::{
    Buckets, Building, CarriedOutBy, Forbidden, FrameworkRule, GatheredInto, Gathering, Gathers,
    Messages, Pieces, Reduction, ShardingSpec, Shares, With,
};
use crate::sources;

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "fsdp",
    label: "FSDP",
    help: "As ZeRO-3, gathered block by block by PyTorch.",
    place: 4,
    short: "FSDP",
    starts_form: true,
    is_searched: true,
    zero_stage: 3,
    shares: Shares { optimizer: true, gradients: true, parameters: true },
    pieces: Pieces::RowsOfEachTensor,
    gathers: Some(Gathers {
        into: GatheredInto::BufferAndTensors,
        keeps_ends: false,
        casts_inputs: true,
        was_measured: true,
        is_limited: false,
        note: "Embedding, norm and head stay gathered; one block is in use while the next is fetched.",
        source: sources::FSDP2,
    }),
    messages: Messages {
        gradients: Reduction::ScatterEveryMicroBatch,
        weights: Gathering::BeforeUse,
    },
    buckets: Buckets::None,
    building: Building::AsItIs,
    offloads_together: true,
    casts_all_gradients: false,
    casts_as_it_gathers: true,
    forbids: &[
        // torch/distributed/fsdp/_fully_shard: CPUOffloadPolicy.
        Forbidden {
            with: With::OptimizerAloneInHostMemory,
            by: CarriedOutBy::Library,
            rule: FrameworkRule {
                says: "PyTorch's FSDP2 moves weights, gradients and optimizer states to the host together; offload the weights too",
                source: sources::FSDP2,
            },
        },
        // torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py: `_init_mp_dtypes` asserts one
        // format.
        Forbidden {
            with: With::TwoFormats,
            by: CarriedOutBy::Library,
            rule: FrameworkRule {
                says: "PyTorch's FSDP2 shards parameters of one format, and these modules keep routers in fp32 beside bf16; train with fp32 \
                       shards gathered in bf16, or with another sharding",
                source: sources::FSDP2,
            },
        },
        // megatron/training/arguments.py, --use-torch-fsdp2.
        Forbidden {
            with: With::Pipeline,
            by: CarriedOutBy::Stack,
            rule: FrameworkRule {
                says: "Megatron-LM does not combine PyTorch's FSDP2 with pipeline parallelism; use ZeRO-1, its distributed optimizer",
                source: sources::MEGATRON_CORE,
            },
        },
        Forbidden {
            with: With::Experts,
            by: CarriedOutBy::Stack,
            rule: FrameworkRule {
                says: "Megatron-LM does not combine PyTorch's FSDP2 with expert parallelism; use ZeRO-1, its distributed optimizer",
                source: sources::MEGATRON_CORE,
            },
        },
    ],
    fix: Some("FSDP: shard everything"),
    way_out: None,
};
