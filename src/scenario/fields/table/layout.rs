//! How many GPUs, and how the model is spread over them, with Megatron-LM's words.

use super::{FieldDefault, Group, option};
use crate::sharding::DataSharding;

fields! { $
    /// Number of GPUs: tensor × pipeline × data-parallel ranks, or replicas when serving.
    Gpus("n", "world_size", "GPUs")
        .whole(1..=1_000_000).unit("GPUs").group(Group::Layout).default(FieldDefault::Integer(8)),
    /// Model states that data-parallel ranks share out among themselves instead of each holding all
    /// of them.
    Sharding("z", "zero_stage", "Sharding")
        .choice(members_as_options!(DataSharding::SPECS)).group(Group::Layout).train()
        .default(FieldDefault::Choice(DataSharding::FORM_START.key)),
    /// A block's gathered weights are given back after forward and gathered again for backward:
    /// less memory, more traffic.
    ReshardAfterForward("rs", "reshard_after_forward", "FSDP reshards after forward")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(true)),
    /// Gradients are summed over ranks in fp32, in buffers twice as large as 16-bit ones.
    ReduceInFp32("rf", "reduce_dtype", "FSDP reduces in fp32")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(true)),
    /// Gradients of a step's micro-batches add up on each GPU, unreduced, and are summed over ranks
    /// with the last one: fewer messages, whole gradients in memory.
    ReduceOnce("ns", "no_sync", "FSDP reduces once a step")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// GPUs that split every matrix among them; weights and most activations shrink in proportion.
    TensorParallel("tp", "tensor_model_parallel_size", "Tensor parallel")
        .whole(1..=1_000_000).unit("GPUs").group(Group::Layout).default(FieldDefault::Integer(1)),
    /// Stages that split the layers among them; weights shrink in proportion.
    PipelineParallel("pp", "pipeline_model_parallel_size", "Pipeline parallel")
        .whole(1..=10_000).unit("stages").group(Group::Layout).default(FieldDefault::Integer(1)),
    /// GPUs that share the tokens of a sequence out among themselves; activations shrink in
    /// proportion. Megatron-LM only.
    ContextParallel("cp", "context_parallel_size", "Context parallel")
        .whole(1..=1_000_000).unit("GPUs").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1)),
    /// GPUs that share the experts out among themselves; they are taken from the data-parallel
    /// ones. Megatron-LM only.
    ExpertParallel("ep", "expert_model_parallel_size", "Expert parallel")
        .whole(1..=1_000_000).unit("GPUs").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1)),
    /// GPUs that split one expert; empty: as many as tensor-parallel GPUs. Megatron-LM only.
    ExpertTensorParallel("etp", "expert_tensor_parallel_size", "Expert tensor parallel")
        .whole(1..=1_000_000).unit("GPUs").optional().group(Group::Layout).train().folded()
        .default(FieldDefault::Empty),
    /// Chunks of layers on each pipeline stage: shorter idle times, more activations in flight.
    /// Megatron-LM only.
    VirtualPipeline("vp", "virtual_pipeline_model_parallel_size", "Chunks per stage")
        .whole(1..=10_000).step(1).group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1)),
    /// How micro-batches take turns on the stages: it decides how many of them keep their
    /// activations, and idle time.
    PipelineSchedule("sch", "pipeline_schedule", "Pipeline schedule")
        .choice(&[
            option("gpipe", "All forward, then all backward",
                "GPipe: every stage keeps the activations of all micro-batches."),
            option("1f1b", "One forward, one backward",
                "Every stage keeps as many micro-batches as stages follow; interleaved with several chunks."),
            option("zb-h1", "Zero bubble H1",
                "Weight gradients wait and fill idle time; every stage keeps as many micro-batches as there are stages."),
            option("zb-h2", "Zero bubble H2",
                "Hardly any idle time; every stage keeps about twice as many micro-batches as there are stages."),
            option("dualpipe", "DualPipe",
                "Micro-batches enter at both ends; every GPU holds two stages and so twice the weights."),
        ]).group(Group::Layout).train().folded().default(FieldDefault::Choice("1f1b")),
    /// Layers on the first pipeline stage, which also holds the embedding; empty: as many as on the
    /// others.
    FirstStageLayers("lf", "num_layers_in_first_pipeline_stage", "Layers on the first stage")
        .whole(1..=10_000).step(1).optional().group(Group::Layout).train().folded()
        .default(FieldDefault::Empty),
    /// Layers on the last pipeline stage, which also holds the output head; empty: as many as on
    /// the others.
    LastStageLayers("ll", "num_layers_in_last_pipeline_stage", "Layers on the last stage")
        .whole(1..=10_000).step(1).optional().group(Group::Layout).train().folded()
        .default(FieldDefault::Empty),
    /// Embedding and loss count as a layer each when layers are dealt out: the first and the last
    /// stage get one fewer.
    AccountForEnds("afe", "account_for_embedding_and_loss_in_pipeline_split",
        "Count embedding and loss as layers")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Tensor-parallel GPUs also split the activations outside attention and feed-forward.
    SequenceParallel("sp", "sequence_parallel", "Sequence parallel")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Groups of data-parallel GPUs that each hold all that is sharded (hybrid sharding, HSDP):
    /// more memory, less traffic between machines.
    Replicas("rep", "num_replicas", "Sharding groups")
        .whole(1..=1_000_000).group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1)),
    /// Optimizer states and master weights wait in the host's memory, and the optimizer steps
    /// there: less GPU memory, slower steps.
    OffloadOptimizer("oo", "offload_optimizer", "Optimizer in host memory")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Shares of the weights wait in the host's memory until they are gathered; with ZeRO 3 or FSDP
    /// only.
    OffloadParameters("ow", "offload_param", "Weights in host memory")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Activations that blocks save for backward wait in the host's memory; those of two blocks
    /// stay on the GPU.
    OffloadActivations("oa", "offload_activations", "Activations in host memory")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Buffer in which DeepSpeed reduces gradients under ZeRO 1 to 3; with other sharding and
    /// stacks it is not there.
    ReduceBucket("rb", "reduce_bucket_size", "Reduction bucket")
        .whole(1..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(500_000_000)),
}
