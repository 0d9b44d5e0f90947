//! The layout over GPUs, and the settings of the library that carries it out.

use crate::config::{
    DataSharding, LibraryOptions, MegatronOptions, Offload, Overlap, ParallelLayout,
    PipelineSchedule, PipelineSplit, RecomputeMethod, RecomputeModules,
};
use crate::scenario::{FieldId, Mode, Scenario, Value, number};
use crate::stacks::Stack;
use std::num::NonZeroU64;

impl Scenario {
    /// Options of the libraries that share a training out.
    pub(super) fn library(&self) -> LibraryOptions {
        LibraryOptions {
            made_on_gpu: self.flag(FieldId::MadeOnGpu),
            cublas_workspace_cache: self.flag(FieldId::KeptWorkspaces),
            wraps_blocks: self.flag(FieldId::WrapsBlocks),
            gradient_as_bucket_view: self.flag(FieldId::GradientAsBucketView),
            bucket_cap_mb: self.integer(FieldId::BucketCap),
            find_unused_parameters: self.flag(FieldId::FindUnusedParameters),
            overlap_comm: self.word(FieldId::OverlapComm),
            contiguous_gradients: self.flag(FieldId::ContiguousGradients),
            reduce_scatter: self.flag(FieldId::ReduceScatter),
            persistence_threshold: self.integer(FieldId::PersistenceThreshold),
            max_live_parameters: self.integer(FieldId::MaxLiveParameters),
            prefetch_bucket_size: self.integer(FieldId::PrefetchBucket),
            max_reuse_distance: self.integer(FieldId::MaxReuseDistance),
            sub_group_size: self.integer(FieldId::SubGroupSize),
        }
    }

    /// Messages beside the computation: the stack whose options are asked says how, others do what
    /// current software does.
    pub(super) fn overlap(&self) -> Overlap {
        let is_asked = self.word::<Stack>(FieldId::Stack).options.are_asked_for();
        Overlap {
            gradients: !is_asked || self.flag(FieldId::OverlapGradReduce),
            ..Overlap::DEFAULT
        }
    }

    /// Options that Megatron-LM alone has; the rest keeps Megatron-LM's defaults.
    pub(super) fn megatron(&self) -> MegatronOptions {
        let blocks = self.nonzero(FieldId::RecomputeLayers);
        let block = self.get(FieldId::RecomputeMethod) == Value::Choice("block");
        MegatronOptions {
            hidden_dropout: self.flag(FieldId::HiddenDropout),
            attention_dropout: self.flag(FieldId::AttentionDropout),
            make_vocab_size_divisible_by: self.nonzero(FieldId::VocabMultiple),
            cross_entropy_loss_fusion: self.word(FieldId::LossFusion),
            gradient_accumulation_fusion: self.flag(FieldId::GradientFusion),
            transformer_engine: self.flag(FieldId::TransformerEngine),
            recompute_method: if block {
                RecomputeMethod::Block(blocks.get())
            } else {
                RecomputeMethod::Uniform(blocks)
            },
            recompute_modules: RecomputeModules {
                core_attn: self.flag(FieldId::RecomputeCore),
                layernorm: self.flag(FieldId::RecomputeNorms),
                mla_up_proj: self.flag(FieldId::RecomputeLatent),
                mlp: self.flag(FieldId::RecomputeMlp),
                moe: self.flag(FieldId::RecomputeExperts),
                moe_act: self.flag(FieldId::RecomputeExpertAct),
                shared_experts: self.flag(FieldId::RecomputeShared),
            },
            fused_attention: self.flag(FieldId::FusedAttention),
            moe_token_dispatcher: self.word(FieldId::TokenDispatcher),
            moe_load_percent: number::round_u64(
                self.decimal(FieldId::LoadImbalance).unwrap_or(1.0) * 100.0,
            ),
            moe_grouped_gemm: self.flag(FieldId::GroupedExperts),
            moe_permute_fusion: self.flag(FieldId::PermuteFusion),
            moe_pad_expert_input_to_capacity: self.flag(FieldId::PadExperts),
            ..MegatronOptions::DEFAULT
        }
    }

    /// The layout; when serving, data-parallel ranks are replicas and share nothing.
    pub(super) fn layout(&self, mode: Mode) -> ParallelLayout {
        let (t, p) =
            (self.nonzero(FieldId::TensorParallel), self.nonzero(FieldId::PipelineParallel));
        let training = mode != Mode::Serve;
        let degree = |id| if training { self.nonzero(id) } else { NonZeroU64::MIN };
        let cp = degree(FieldId::ContextParallel);
        let ranks =
            self.integer(FieldId::Gpus) / t.get().saturating_mul(p.get()).saturating_mul(cp.get());
        ParallelLayout {
            tensor_model_parallel_size: t,
            pipeline_model_parallel_size: p,
            data_parallel_size: NonZeroU64::new(ranks).unwrap_or(NonZeroU64::MIN),
            sequence_parallel: training && self.flag(FieldId::SequenceParallel),
            sharding: if training { self.word(FieldId::Sharding) } else { DataSharding::NOTHING },
            reshard_after_forward: self.flag(FieldId::ReshardAfterForward),
            reduce_in_fp32: self.flag(FieldId::ReduceInFp32),
            reduce_once: training && self.flag(FieldId::ReduceOnce),
            context_parallel_size: cp,
            expert_model_parallel_size: degree(FieldId::ExpertParallel),
            expert_tensor_parallel_size: self
                .optional_integer(FieldId::ExpertTensorParallel)
                .filter(|_| training)
                .and_then(NonZeroU64::new),
            virtual_pipeline_model_parallel_size: degree(FieldId::VirtualPipeline),
            pipeline_schedule: if training {
                self.word(FieldId::PipelineSchedule)
            } else {
                PipelineSchedule::default()
            },
            pipeline_split: if training { self.split() } else { PipelineSplit::Even },
            data_parallel_replicas: degree(FieldId::Replicas),
            offload: Offload {
                optimizer: training && self.flag(FieldId::OffloadOptimizer),
                parameters: training && self.flag(FieldId::OffloadParameters),
                activations: training && self.flag(FieldId::OffloadActivations),
            },
        }
    }

    /// How blocks are dealt out over the stages; numbers of the ends count before the flag.
    pub(super) fn split(&self) -> PipelineSplit {
        let ends = [FieldId::FirstStageLayers, FieldId::LastStageLayers]
            .map(|id| self.optional_integer(id));
        match ends.map(|blocks| blocks.and_then(NonZeroU64::new)) {
            [None, None] if self.flag(FieldId::AccountForEnds) => PipelineSplit::WithEnds,
            [None, None] => PipelineSplit::Even,
            [first, last] => PipelineSplit::Ends { first, last },
        }
    }
}
