//! Settings of PyTorch and of the libraries that share a training out, with their words: DeepSpeed
//! and `DistributedDataParallel`.

use super::{FieldDefault, Group, option};

fields! { $
    /// The model's tensors are made on the GPU one by one, as from a configuration; otherwise they
    /// come from the host, as trained weights do. A head that shares the embedding then leaves a
    /// hole.
    MadeOnGpu("mog", "made_on_gpu", "Model made on the GPU")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// PyTorch before 2.15 keeps the memory that matrix products work in: 32 MiB for forward and as
    /// much for backward. From 2.15 on every product takes its own and gives it back.
    KeptWorkspaces("ckw", "cublas_workspace_cache", "PyTorch keeps cuBLAS workspaces")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// FSDP1 makes a unit of every block (`auto_wrap_policy`), which is gathered for its own use.
    /// Otherwise the whole model is one unit: all weights are gathered at once, and all gradients
    /// wait for the end of backward.
    WrapsBlocks("awp", "auto_wrap_policy", "FSDP1 wraps each block")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(true)),
    /// Gradients lie in DDP's buckets, not beside them: one copy of the gradients less.
    GradientAsBucketView("bv", "gradient_as_bucket_view", "DDP's gradients lie in buckets")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// Size of DDP's buckets, MiB: it decides in which pieces gradients are reduced.
    BucketCap("bcm", "bucket_cap_mb", "DDP's buckets")
        .whole(1..=100_000).unit("MiB").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(25)),
    /// DDP looks for parameters without gradients in each step, and keeps its first buckets.
    FindUnusedParameters("fup", "find_unused_parameters", "DDP finds unused parameters")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(false)),
    /// DeepSpeed's ZeRO reduces gradients while backward goes on; under stages 1 and 2 that takes a
    /// second bucket.
    OverlapComm("oc", "overlap_comm", "ZeRO overlaps reduction")
        .choice(&[
            option("auto", "Stage 3 only", "DeepSpeed's default: stage 3 does, stages 1 and 2 do not."),
            option("on", "On", "A second bucket is filled while the first is reduced."),
            option("off", "Off", "Backward waits for each reduction; one bucket."),
        ]).group(Group::Layout).train().folded().default(FieldDefault::Choice("auto")),
    /// DeepSpeed's ZeRO copies gradients into one buffer as backward makes them; otherwise they
    /// wait where they are, and no bucket is there.
    ContiguousGradients("cgr", "contiguous_gradients", "ZeRO joins gradients")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(true)),
    /// ZeRO 1 and 2 reduce a bucket by the ranks that own its parts; otherwise as one.
    ReduceScatter("rsc", "reduce_scatter", "ZeRO reduces by owner")
        .flag().group(Group::Layout).train().folded().default(FieldDefault::Flag(true)),
    /// ZeRO 3 never gives back parameters of at most so many elements, such as norms and biases.
    PersistenceThreshold("ppt", "stage3_param_persistence_threshold", "ZeRO 3 keeps parameters up to")
        .whole(0..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(100_000)),
    /// ZeRO 3 gathers ahead, and keeps gathered, so many parameters in all.
    MaxLiveParameters("mlv", "stage3_max_live_parameters", "ZeRO 3 keeps gathered at most")
        .whole(0..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1_000_000_000)),
    /// ZeRO 3 gathers so many parameters ahead at once.
    PrefetchBucket("spb", "stage3_prefetch_bucket_size", "ZeRO 3 gathers ahead")
        .whole(0..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(50_000_000)),
    /// ZeRO 3 does not give a parameter back that is used again before so many others.
    MaxReuseDistance("mrd", "stage3_max_reuse_distance", "ZeRO 3 keeps for reuse within")
        .whole(0..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1_000_000_000)),
    /// ZeRO 3's optimizer updates so many of a GPU's parameters at once; its temporaries shrink
    /// with it.
    SubGroupSize("sgs", "sub_group_size", "ZeRO 3 updates at once")
        .whole(1..=100_000_000_000).unit("elements").group(Group::Layout).train().folded()
        .default(FieldDefault::Integer(1_000_000_000)),
}
