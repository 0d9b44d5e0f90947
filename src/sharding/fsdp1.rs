//! PyTorch's FSDP1 (`torch.distributed.fsdp.FullyShardedDataParallel`): the parameters of a block
//! are one flat vector that ranks share out, gathered and reduced as one tensor.
//!
//! `_flat_param.py` and `_runtime_utils.py`, PyTorch 2.15, with `use_orig_params=True`: each block
//! is a unit, and the root's holds what is left. A unit's parameters lie side by side, aligned to
//! 16 bytes and padded to a multiple of the ranks. A rank casts its part (`_mp_shard`), gathers the
//! flat parameter, and lets the cast go; weights are views of the flat parameter. `FULL_SHARD`
//! gives it back after forward, but for the root's; `SHARD_GRAD_OP` keeps all of them until
//! backward is through. Backward joins the gradients of the views in a flat gradient, lets the flat
//! parameter go, and reduces. The next unit of backward is gathered ahead (`BACKWARD_PRE`) unless a
//! run says otherwise, and nothing is gathered ahead in forward.

use super::{
    Buckets, Building, CarriedOutBy, Forbidden, FrameworkRule, GatheredInto, Gathering, Gathers,
    Messages, Pieces, Reduction, ShardingSpec, Shares, With,
};
use crate::sources;

pub(super) const SHARDING: ShardingSpec = ShardingSpec {
    key: "fsdp1",
    label: "FSDP1",
    help: "As FSDP, by PyTorch's older FullyShardedDataParallel: a block's parameters are one flat vector.",
    place: 5,
    short: "FSDP1",
    starts_form: false,
    // PyTorch's documentation sends users to FSDP2.
    is_searched: false,
    zero_stage: 3,
    shares: Shares { optimizer: true, gradients: true, parameters: true },
    pieces: Pieces::OfOneVectorPerGroup,
    gathers: Some(Gathers {
        into: GatheredInto::FlatTensor,
        keeps_ends: true,
        // `MixedPrecision` has `cast_forward_inputs=False`.
        casts_inputs: false,
        was_measured: true,
        is_limited: false,
        note: "Embedding, norm and head stay gathered; in backward one block is in use while the next is fetched.",
        source: sources::FSDP1,
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
        // torch/distributed/fsdp/api.py: CPUOffload.
        Forbidden {
            with: With::OptimizerAloneInHostMemory,
            by: CarriedOutBy::Library,
            rule: FrameworkRule {
                says: "PyTorch's FSDP1 moves weights, gradients and optimizer states to the host together; offload the weights too",
                source: sources::FSDP1,
            },
        },
        // torch/distributed/fsdp/_flat_param.py: "Must flatten tensors with uniform dtype".
        Forbidden {
            with: With::TwoFormats,
            by: CarriedOutBy::Library,
            rule: FrameworkRule {
                says: "PyTorch's FSDP1 flattens parameters of one format, and these modules keep routers in fp32 beside bf16; train with \
                       fp32 shards gathered in bf16, or with another sharding",
                source: sources::FSDP1,
            },
        },
        // torch/distributed/pipelining/stage.py knows `FSDPModule`, which is FSDP2's, and
        // `DistributedDataParallel`.
        Forbidden {
            with: With::Pipeline,
            by: CarriedOutBy::Library,
            rule: FrameworkRule {
                says: "PyTorch's pipelines know FSDP2, not FSDP1; use FSDP, or 1 pipeline stage",
                source: sources::FSDP1,
            },
        },
        Forbidden {
            with: With::Anything,
            by: CarriedOutBy::Stack,
            rule: FrameworkRule {
                says: "Megatron-LM does not know PyTorch's FSDP1; use FSDP, or ZeRO-1, its distributed optimizer",
                source: sources::MEGATRON_CORE,
            },
        },
    ],
    fix: None,
    way_out: None,
};
