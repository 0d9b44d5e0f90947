//! Links of version 1: its keys and defaults, frozen on 2026-11-21.
//!
//! A later version that changes a key or a default gets a table of its own; here no key and no default ever changes, so that links
//! made with it keep their meaning. A key may be added, with the default under which every earlier link means what it meant. A test holds
//! it equal to the field table for as long as version 1 is the version that is written. Where a mode begins with another value than
//! the table's, as serving does with one GPU, links state it, and a test holds that too.

use super::FieldId;

/// Key, field and default of every input; `None`: the model's or the accelerator's own value.
pub(super) const TABLE: [(&str, FieldId, Option<&str>); 185] = [
    ("do", FieldId::Mode, Some("train")),
    ("name", FieldId::Name, Some(".z")),
    ("u", FieldId::MemoryUnit, Some("gib")),
    ("m", FieldId::Model, Some("llama3-8b")),
    ("mn", FieldId::ModelName, Some(".z")),
    ("mt", FieldId::ModelType, Some("empty")),
    ("gd", FieldId::AsGeneric, Some("0")),
    ("nc", FieldId::NotCounted, Some("empty")),
    ("lo", FieldId::LeftOut, Some("empty")),
    ("h", FieldId::HiddenSize, None),
    ("l", FieldId::NumHiddenLayers, None),
    ("a", FieldId::NumAttentionHeads, None),
    ("kv", FieldId::NumKeyValueHeads, None),
    ("hd", FieldId::HeadDim, None),
    ("ff", FieldId::IntermediateSize, None),
    ("v", FieldId::VocabSize, None),
    ("mp", FieldId::MaxPositionEmbeddings, None),
    ("pr", FieldId::PositionRows, None),
    ("norm", FieldId::Normalization, None),
    ("mlp", FieldId::Mlp, None),
    ("pos", FieldId::PositionEmbedding, None),
    ("qb", FieldId::AttentionBias, None),
    ("ob", FieldId::AttentionOutputBias, None),
    ("fb", FieldId::MlpBias, None),
    ("tie", FieldId::TieWordEmbeddings, None),
    ("qn", FieldId::QkNorm, None),
    ("en", FieldId::EmbeddingNorm, None),
    ("nb", FieldId::NormsPerBlock, None),
    ("fn", FieldId::FinalNorm, None),
    ("fam", FieldId::Family, None),
    ("act", FieldId::HiddenAct, None),
    ("rd", FieldId::RotaryDim, None),
    ("sw", FieldId::SlidingWindow, None),
    ("swl", FieldId::SlidingLayers, None),
    ("par", FieldId::ParallelResidual, None),
    ("snk", FieldId::AttentionSinks, None),
    ("cap", FieldId::AttentionSoftcap, None),
    ("capl", FieldId::LogitSoftcap, None),
    ("hb", FieldId::HeadBias, None),
    ("wp", FieldId::EmbeddingWidth, None),
    ("nd", FieldId::NewDecoder, None),
    ("pl", FieldId::Pooler, None),
    ("ex", FieldId::NumExperts, None),
    ("ept", FieldId::ExpertsPerToken, None),
    ("exf", FieldId::ExpertWidth, None),
    ("exs", FieldId::SharedExpertWidth, None),
    ("exh", FieldId::SharedExpertGate, None),
    ("exl", FieldId::ExpertLayers, None),
    ("exg", FieldId::ExpertGroups, None),
    ("exk", FieldId::ExpertGroupsKept, None),
    ("ext", FieldId::ExpertNorm, None),
    ("exb", FieldId::ExpertBias, None),
    ("lat", FieldId::KvLoraRank, None),
    ("latq", FieldId::QLoraRank, None),
    ("latr", FieldId::QkRopeHeadDim, None),
    ("latn", FieldId::QkNopeHeadDim, None),
    ("latv", FieldId::VHeadDim, None),
    ("mx", FieldId::Mixer, None),
    ("mxl", FieldId::MixerLayers, None),
    ("mxn", FieldId::MixerHeads, None),
    ("mxd", FieldId::MixerHeadDim, None),
    ("mxg", FieldId::MixerKeyHeads, None),
    ("mxs", FieldId::MixerState, None),
    ("mxc", FieldId::MixerKernel, None),
    ("mxr", FieldId::MixerRank, None),
    ("mxf", FieldId::MixerFp32, None),
    ("al", FieldId::AttentionLayers, None),
    ("fl", FieldId::FeedForwardLayers, None),
    ("kvs", FieldId::SharedKeyLayers, None),
    ("og", FieldId::AttentionGate, None),
    ("vhd", FieldId::ValueHeadDim, None),
    ("ohl", FieldId::OtherHeadLayers, None),
    ("oha", FieldId::OtherHeads, None),
    ("ohk", FieldId::OtherKvHeads, None),
    ("ohd", FieldId::OtherHeadDim, None),
    ("ohv", FieldId::OtherValueDim, None),
    ("ohs", FieldId::OtherSinks, None),
    ("ohj", FieldId::OtherJointKeys, None),
    ("exn", FieldId::ExpertsNormed, None),
    ("s", FieldId::SeqLength, Some("8192")),
    ("gb", FieldId::GlobalBatchSize, Some("128")),
    ("b", FieldId::MicroBatchSize, Some("1")),
    ("rc", FieldId::Recompute, Some("full")),
    ("ctx", FieldId::ContextLength, Some("8192")),
    ("seqs", FieldId::ConcurrentSequences, Some("16")),
    ("pf", FieldId::PrefillChunkSize, Some("2048")),
    ("in", FieldId::PromptLength, Some("empty")),
    ("pre", FieldId::SharedPrefix, Some("0")),
    ("len", FieldId::MeanTokens, Some("empty")),
    ("lenp", FieldId::TailTokens, Some("empty")),
    ("usr", FieldId::Users, Some("empty")),
    ("srv", FieldId::Server, Some("none")),
    ("gmu", FieldId::MemoryUtilization, Some("0.9")),
    ("mfs", FieldId::StaticFraction, Some("0.88")),
    ("bs", FieldId::BlockSize, Some("empty")),
    ("cg", FieldId::CudaGraphs, Some("0")),
    ("grp", FieldId::GroupSize, Some("128")),
    ("eep", FieldId::WholeExperts, Some("0")),
    ("ata", FieldId::TokensSent, Some("0")),
    ("att", FieldId::Attention, Some("flash")),
    ("ker", FieldId::Kernels, Some("fused")),
    ("obj", FieldId::Objective, Some("sft")),
    ("ft", FieldId::Method, Some("lora")),
    ("r", FieldId::Rank, Some("16")),
    ("la", FieldId::LoraAlpha, Some("32")),
    ("aq", FieldId::AdaptQuery, Some("1")),
    ("ak", FieldId::AdaptKey, Some("1")),
    ("av", FieldId::AdaptValue, Some("1")),
    ("ao", FieldId::AdaptOutput, Some("1")),
    ("ag", FieldId::AdaptGate, Some("1")),
    ("au", FieldId::AdaptUp, Some("1")),
    ("ad", FieldId::AdaptDown, Some("1")),
    ("nvt", FieldId::VirtualTokens, Some("20")),
    ("ld", FieldId::LoraDropout, Some("0")),
    ("adt", FieldId::AdapterDType, Some("fp32")),
    ("dq", FieldId::DoubleQuant, Some("1")),
    ("pag", FieldId::PagedOptimizer, Some("0")),
    ("fzl", FieldId::FrozenLayers, Some("0")),
    ("fze", FieldId::FrozenEmbeddings, Some("0")),
    ("ref", FieldId::Reference, Some("1")),
    ("ro", FieldId::Rollout, Some("sleeping")),
    ("ron", FieldId::RolloutSequences, Some("64")),
    ("txt", FieldId::TextTokens, Some("empty")),
    ("pack", FieldId::Packing, Some("0")),
    ("prec", FieldId::Precision, Some("bf16")),
    ("grad", FieldId::Gradients, Some("as-weights")),
    ("opt", FieldId::Optimizer, Some("adamw")),
    ("oi", FieldId::OptimizerImplementation, Some("fused")),
    ("w", FieldId::WeightDType, Some("bf16")),
    ("kvd", FieldId::KvCacheDType, Some("bf16")),
    ("gpu", FieldId::Accelerator, Some("h100-80")),
    ("mem", FieldId::AcceleratorMemory, None),
    ("pk", FieldId::PeakRate, None),
    ("bw", FieldId::MemoryBandwidth, None),
    ("tdp", FieldId::BoardPower, None),
    ("npn", FieldId::AcceleratorsPerNode, None),
    ("n", FieldId::Gpus, Some("8")),
    ("z", FieldId::Sharding, Some("fsdp")),
    ("rs", FieldId::ReshardAfterForward, Some("1")),
    ("rf", FieldId::ReduceInFp32, Some("1")),
    ("tp", FieldId::TensorParallel, Some("1")),
    ("pp", FieldId::PipelineParallel, Some("1")),
    ("cp", FieldId::ContextParallel, Some("1")),
    ("ep", FieldId::ExpertParallel, Some("1")),
    ("etp", FieldId::ExpertTensorParallel, Some("empty")),
    ("vp", FieldId::VirtualPipeline, Some("1")),
    ("sch", FieldId::PipelineSchedule, Some("1f1b")),
    ("lf", FieldId::FirstStageLayers, Some("empty")),
    ("ll", FieldId::LastStageLayers, Some("empty")),
    ("afe", FieldId::AccountForEnds, Some("0")),
    ("sp", FieldId::SequenceParallel, Some("0")),
    ("rep", FieldId::Replicas, Some("1")),
    ("oo", FieldId::OffloadOptimizer, Some("0")),
    ("ow", FieldId::OffloadParameters, Some("0")),
    ("oa", FieldId::OffloadActivations, Some("0")),
    ("rb", FieldId::ReduceBucket, Some("5e8")),
    ("te", FieldId::TransformerEngine, Some("1")),
    ("xef", FieldId::LossFusion, Some("none")),
    ("gaf", FieldId::GradientFusion, Some("1")),
    ("hdo", FieldId::HiddenDropout, Some("0")),
    ("ado", FieldId::AttentionDropout, Some("0")),
    ("vd", FieldId::VocabMultiple, Some("128")),
    ("rm", FieldId::RecomputeMethod, Some("uniform")),
    ("rn", FieldId::RecomputeLayers, Some("1")),
    ("rca", FieldId::RecomputeCore, Some("1")),
    ("rln", FieldId::RecomputeNorms, Some("0")),
    ("rml", FieldId::RecomputeMlp, Some("0")),
    ("rup", FieldId::RecomputeLatent, Some("0")),
    ("rmo", FieldId::RecomputeExperts, Some("0")),
    ("rma", FieldId::RecomputeExpertAct, Some("0")),
    ("rse", FieldId::RecomputeShared, Some("0")),
    ("mtd", FieldId::TokenDispatcher, Some("allgather")),
    ("mgg", FieldId::GroupedExperts, Some("0")),
    ("mpc", FieldId::PadExperts, Some("0")),
    ("imb", FieldId::LoadImbalance, Some("1")),
    ("fc", FieldId::FrameworkContext, Some("1.3")),
    ("fr", FieldId::FragmentationReserve, Some("3")),
    ("cb", FieldId::CommunicatorBuffers, Some("0")),
    ("ovh", FieldId::ServingOverhead, Some("0")),
    ("tok", FieldId::TrainingTokens, Some("1e12")),
    ("tt", FieldId::TuningTokens, Some("5e7")),
    ("mfu", FieldId::Mfu, Some("40")),
    ("price", FieldId::PricePerHour, Some("2")),
    ("net", FieldId::NetworkBandwidth, None),
    ("grid", FieldId::GridEmissions, Some("450")),
];

#[cfg(test)]
mod tests {
    use super::TABLE;
    use crate::scenario::{FieldDefault, FieldId, Mode, Scenario, Value, fields};

    #[test]
    fn version_1_has_the_keys_of_the_field_table() {
        let frozen: Vec<_> = TABLE.iter().map(|(key, id, _)| (*key, *id)).collect();
        let today: Vec<_> = fields().iter().map(|field| (field.key, field.id)).collect();
        assert_eq!(frozen, today);
    }

    #[test]
    fn version_1_has_the_defaults_of_the_field_table() {
        let defaults = Scenario::default();
        for (key, id, frozen) in TABLE {
            let today = crate::scenario::field(id).default;
            assert_eq!(frozen.is_none(), today == FieldDefault::Preset, "{key}");
            if let Some(frozen) = frozen {
                assert_eq!(super::super::read_value(id, frozen), Ok(defaults.get(id)), "{key}");
            }
        }
        assert_eq!(*super::super::START, defaults);
    }

    #[test]
    fn what_a_mode_begins_with_and_version_1_does_not_is_in_the_link() {
        let mut differing = Vec::new();
        for mode in [Mode::Train, Mode::Tune, Mode::Serve] {
            let mut fresh = Scenario::default();
            fresh.set(FieldId::Mode, Value::choice(mode));
            let link = super::super::encode(&fresh);
            for (key, id, frozen) in TABLE.iter().filter(|(_, id, _)| *id != FieldId::Mode) {
                let frozen = frozen.and_then(|frozen| super::super::read_value(*id, frozen).ok());
                if frozen.is_some_and(|frozen| frozen != fresh.get(*id)) {
                    let stated = format!("&{key}={}", super::super::write_value(*id, &fresh.get(*id)));
                    assert!(format!("{link}&").contains(&format!("{stated}&")), "{link} lacks {stated}");
                    differing.push(*id);
                }
            }
        }
        assert_eq!(differing, [FieldId::Gpus]);
    }
}
