//! The way from the user's inputs to a checked job, or to every problem at once.

mod architecture;
mod hybrid;
mod listed;
mod tuning;

use std::num::NonZeroU64;

use super::{FieldId, FieldKind, Mode, Scenario, Value, field, fields, number, parse, range_text};
use super::{drafting, serving};
use crate::config::{
    Accelerator, Cluster, DataSharding, Dispatch, Evaluation, Float8, Float8Recipe, Images, Job,
    LibraryOptions, MegatronOptions, Narrow, Offload, Overheads, Overlap, ParallelLayout,
    PeakRates, PipelineSchedule, PipelineSplit, PositionEmbedding, ProductFormat, RecomputeMethod,
    RecomputeModules, Run, Speed, TrainingRun, Tuning,
};
use crate::planner::admitted;
use crate::stacks::Stack;
use crate::units::{Bytes, grouped, to_f64};

/// Bytes of one MiB.
const MIB: u64 = 1 << 20;

/// One problem of a scenario, tied to the field where it can be solved.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The field.
    pub field: FieldId,
    /// One sentence.
    pub message: String,
    /// Text of a button, and the value that it gives the field.
    pub way_out: Option<(String, Value)>,
}

impl Scenario {
    /// Returns the checked job, with one tensor-, pipeline- and data-parallel layout that uses all
    /// GPUs.
    ///
    /// Data-parallel ranks are `GPUs / (tensor · pipeline)`. Layouts that merely cannot run (heads
    /// that do not split, a batch that does not divide) are no errors here: the estimate names
    /// them.
    ///
    /// # Errors
    /// Every problem found, at least one, each with the field that it is about.
    ///
    /// ```
    /// use headroom::scenario::{FieldId, Scenario, Value};
    ///
    /// let mut scenario = Scenario::default();
    /// assert!(scenario.resolve().is_ok());
    /// scenario.set(FieldId::SeqLength, Value::Integer(0));
    /// let problems = scenario.resolve().expect_err("a sequence has a token at least");
    /// assert_eq!(problems[0].field, FieldId::SeqLength);
    /// ```
    pub fn resolve(&self) -> Result<Job, Vec<FieldError>> {
        let mode = self.mode();
        // Without the row that it starts from nothing else of the scenario can be judged.
        let unlisted: Vec<FieldError> =
            listed::START_FIELDS.into_iter().filter_map(|id| listed::check(self, id)).collect();
        if !unlisted.is_empty() {
            return Err(unlisted);
        }
        let mut errors: Vec<FieldError> = fields()
            .iter()
            .filter(|field| field.applies.in_mode(mode))
            .filter_map(|field| self.check_value(field.id))
            .collect();
        // Rules between fields are looked at only where each field is in order by itself.
        for rule in [
            check_heads,
            check_positions,
            check_experts,
            hybrid::check_layers,
            check_stack,
            serving::check_lengths,
            serving::check_slots,
            drafting::check,
            tuning::check_texts,
            check_gpus,
        ] {
            if let Some(error) = rule(self)
                && !errors.iter().any(|known| known.field == error.field)
            {
                errors.push(error);
            }
        }
        if let Some(error) = self
            .unread_keys()
            .filter(|_| errors.iter().all(|error| !field(error.field).default.is_of_model()))
        {
            errors.push(error);
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Job::new(self.model_config(), self.run(mode), self.layout(mode), self.cluster())
            .map(admitted)
            .map_err(|error| {
                vec![FieldError {
                    field: FieldId::Model,
                    message: format!("This scenario cannot be computed: {error}."),
                    way_out: None,
                }]
            })
    }

    /// The problem of one value, if it is not in its range.
    fn check_value(&self, id: FieldId) -> Option<FieldError> {
        let field = field(id);
        let may_be_empty = matches!(
            field.kind,
            FieldKind::Integer { optional: true, .. } | FieldKind::Decimal { optional: true, .. }
        );
        // A row of the catalog is in order, which a test holds, and so are values that a reader
        // took from a file.
        if field.default.is_of_model() && (!self.is_set(id) || !self.asks(id)) {
            return None;
        }
        if !self.is_set(id)
            && (may_be_empty
                || matches!(field.kind, FieldKind::Flag | FieldKind::Layers | FieldKind::Choice(_)))
        {
            return None;
        }
        let value = self.get(id);
        let fine = match (field.kind, &value) {
            (FieldKind::Integer { min, max, .. }, Value::Integer(number)) => {
                (min..=max).contains(number)
            }
            (FieldKind::Decimal { min, max, .. }, Value::Decimal(number)) => {
                (min..=max).contains(number)
            }
            (
                FieldKind::Integer { optional, .. } | FieldKind::Decimal { optional, .. },
                Value::Empty,
            ) => optional,
            (FieldKind::Integer { .. } | FieldKind::Decimal { .. }, _) => false,
            _ => true,
        };
        if fine {
            return None;
        }
        let message = match &value {
            // The sentence that the form gives for the same text.
            Value::Integer(number) => parse(id, &number.to_string()).err(),
            Value::Decimal(number) => parse(id, &number.to_string()).err(),
            _ => None,
        }
        .unwrap_or_else(|| format!("{} takes {}.", field.label, range_text(id)));
        let start = self.start(id);
        let way_out = (start != value && start != Value::Empty)
            .then(|| (format!("Use {}", super::show(id, &start)), start));
        Some(FieldError { field: id, message, way_out })
    }

    pub(super) fn integer(&self, id: FieldId) -> u64 {
        match self.get(id) {
            Value::Integer(number) => number,
            _ => 0,
        }
    }

    pub(super) fn optional_integer(&self, id: FieldId) -> Option<u64> {
        match self.get(id) {
            Value::Integer(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn decimal(&self, id: FieldId) -> Option<f64> {
        match self.get(id) {
            Value::Decimal(number) => Some(number),
            _ => None,
        }
    }

    pub(super) fn flag(&self, id: FieldId) -> bool {
        self.get(id) == Value::Flag(true)
    }

    fn nonzero(&self, id: FieldId) -> NonZeroU64 {
        NonZeroU64::new(self.integer(id)).unwrap_or(NonZeroU64::MIN)
    }

    fn run(&self, mode: Mode) -> Run {
        match mode {
            Mode::Train | Mode::Tune => Run::Training(TrainingRun {
                seq_length: self.integer(FieldId::SeqLength),
                source_length: self.optional_integer(FieldId::SourceLength),
                global_batch_size: self.integer(FieldId::GlobalBatchSize),
                micro_batch_size: self.optional_integer(FieldId::MicroBatchSize),
                precision: self.word(FieldId::Precision),
                gradients: self.word(FieldId::Gradients),
                optimizer: self.word(FieldId::Optimizer),
                optimizer_implementation: self.word(FieldId::OptimizerImplementation),
                optimizer_in_backward: self.flag(FieldId::OptimizerInBackward),
                zero_grad_to_none: self.flag(FieldId::ZeroGradToNone),
                stack: self.word(FieldId::Stack),
                loss: self.word(FieldId::Loss),
                attention: self.word(FieldId::Attention),
                recompute: self.word(FieldId::Recompute),
                compile: self.flag(FieldId::Compile),
                float8: Float8 {
                    recipe: self.word(FieldId::Float8),
                    gathers: self.flag(FieldId::Float8Gathers),
                },
                training_tokens: to_f64(self.integer(if mode == Mode::Tune {
                    FieldId::TuningTokens
                } else {
                    FieldId::TrainingTokens
                })),
                mfu: self.decimal(FieldId::Mfu).unwrap_or_default() / 100.0,
                reduce_bucket_size: self.integer(FieldId::ReduceBucket),
                library: self.library(),
                megatron: self.megatron(),
                dispatch: Dispatch::Cuda,
                flash: self.word::<Stack>(FieldId::Stack).flash,
                products: match self.word(FieldId::Float8) {
                    Float8Recipe::None => ProductFormat::Activations,
                    Float8Recipe::Tensorwise
                    | Float8Recipe::Rowwise
                    | Float8Recipe::RowwiseWithGwHp => ProductFormat::Narrow(Narrow::Fp8),
                },
                overlap: self.overlap(),
                tuning: Tuning {
                    frozen_tower: self.flag(FieldId::FrozenTower),
                    ..if mode == Mode::Tune { self.tuning() } else { Tuning::FULL }
                },
                images: self.images(),
                texts: if mode == Mode::Tune { self.texts() } else { None },
                evaluation: self.optional_integer(FieldId::EvaluationBatch).map(|batch_size| {
                    Evaluation { batch_size, writes_logits: self.flag(FieldId::EvaluationLogits) }
                }),
            }),
            Mode::Serve => Run::Serving(self.serving()),
        }
    }

    /// Images in every sequence.
    pub(super) fn images(&self) -> Images {
        Images {
            per_sequence: self.integer(FieldId::ImagesPerSequence),
            width: self.integer(FieldId::ImageWidth),
            height: self.integer(FieldId::ImageHeight),
            limits: [FieldId::FewestPixels, FieldId::MostPixels]
                .map(|id| self.optional_integer(id).unwrap_or(0)),
        }
    }

    /// Options of the libraries that share a training out.
    fn library(&self) -> LibraryOptions {
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
    fn overlap(&self) -> Overlap {
        let is_asked = self.word::<Stack>(FieldId::Stack).options.are_asked_for();
        Overlap {
            gradients: !is_asked || self.flag(FieldId::OverlapGradReduce),
            ..Overlap::DEFAULT
        }
    }

    /// Options that Megatron-LM alone has; the rest keeps Megatron-LM's defaults.
    fn megatron(&self) -> MegatronOptions {
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
            moe_pad_expert_input_to_capacity: self.flag(FieldId::PadExperts),
            ..MegatronOptions::DEFAULT
        }
    }

    /// The layout; when serving, data-parallel ranks are replicas and share nothing.
    fn layout(&self, mode: Mode) -> ParallelLayout {
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
    fn split(&self) -> PipelineSplit {
        let ends = [FieldId::FirstStageLayers, FieldId::LastStageLayers]
            .map(|id| self.optional_integer(id));
        match ends.map(|blocks| blocks.and_then(NonZeroU64::new)) {
            [None, None] if self.flag(FieldId::AccountForEnds) => PipelineSplit::WithEnds,
            [None, None] => PipelineSplit::Even,
            [first, last] => PipelineSplit::Ends { first, last },
        }
    }

    fn cluster(&self) -> Cluster {
        let preset = self.accelerator().map(|row| &row.accelerator);
        let memory = match (preset, self.is_set(FieldId::AcceleratorMemory)) {
            (Some(device), false) => device.memory,
            _ => self.gibibytes(FieldId::AcceleratorMemory),
        };
        let typed = self.decimal(FieldId::PeakRate);
        let peak = match preset {
            Some(device) if !self.is_set(FieldId::PeakRate) => device.peak,
            // The peaks of other formats do not follow from the one that was typed.
            _ => PeakRates { bf16: typed, fp16: typed, ..PeakRates::default() },
        };
        // PyTorch leaves the matrix units alone where products of fp32 are not allowed to be less
        // accurate.
        let peak =
            if self.flag(FieldId::AllowTf32) { peak } else { PeakRates { tf32: None, ..peak } };
        Cluster {
            accelerator: Accelerator {
                memory,
                memory_bandwidth: self
                    .decimal(FieldId::MemoryBandwidth)
                    .map(|gigabytes| gigabytes * 1e9),
                peak,
                accelerators_per_node: self.integer(FieldId::AcceleratorsPerNode),
                price_per_hour: self.decimal(FieldId::PricePerHour).unwrap_or_default(),
            },
            overheads: Overheads {
                framework_context: self.gibibytes(FieldId::FrameworkContext),
                fragmentation_percent: self
                    .decimal(FieldId::FragmentationReserve)
                    .unwrap_or_default(),
                communicator_buffers: Bytes(number::round_u64(
                    self.decimal(FieldId::CommunicatorBuffers).unwrap_or_default() * to_f64(MIB),
                )),
                measured_beyond: self.gibibytes(FieldId::MeasuredBeyond),
                expandable_segments: self.flag(FieldId::ExpandableSegments),
            },
            speed: self.speed(),
            grid_grams_per_kwh: self.decimal(FieldId::GridEmissions).unwrap_or_default(),
        }
    }

    /// How fast the accelerator is beyond its peak.
    fn speed(&self) -> Speed {
        let speed = self.accelerator().map_or(Speed::GENERIC, |row| crate::catalog::speed(row.id));
        let network = self.decimal(FieldId::NetworkBandwidth).map(|gigabytes| gigabytes * 1e9);
        let tdp_watts = self.decimal(FieldId::BoardPower);
        Speed { network_bandwidth: network.unwrap_or(speed.network_bandwidth), tdp_watts, ..speed }
    }

    pub(super) fn gibibytes(&self, id: FieldId) -> Bytes {
        Bytes(number::round_u64(self.decimal(id).unwrap_or_default() * to_f64(Bytes::GIB)))
    }
}

/// Query heads must be a multiple of key/value heads.
fn check_heads(scenario: &Scenario) -> Option<FieldError> {
    let (heads, kv_heads) =
        (scenario.integer(FieldId::NumAttentionHeads), scenario.integer(FieldId::NumKeyValueHeads));
    if heads == 0 || kv_heads == 0 || heads.is_multiple_of(kv_heads) {
        return None;
    }
    // A model in which every query head had its own key/value head most likely stays one.
    let multi_head = scenario
        .model()
        .is_some_and(|row| row.config.num_attention_heads == row.config.num_key_value_heads);
    let way_out = if multi_head {
        heads
    } else {
        (1..=kv_heads.min(heads)).rev().find(|count| heads.is_multiple_of(*count)).unwrap_or(1)
    };
    Some(FieldError {
        field: FieldId::NumKeyValueHeads,
        message: format!(
            "{} attention heads do not split evenly over {} key/value heads.",
            count(heads),
            count(kv_heads)
        ),
        way_out: Some((format!("Use {} key/value heads", count(way_out)), Value::Integer(way_out))),
    })
}

/// A learned position table needs rows.
fn check_positions(scenario: &Scenario) -> Option<FieldError> {
    let learned = scenario.word::<PositionEmbedding>(FieldId::PositionEmbedding)
        == PositionEmbedding::Learned;
    if !learned || scenario.reads_keys() || scenario.integer(FieldId::PositionRows) > 0 {
        return None;
    }
    let rows = scenario.integer(FieldId::MaxPositionEmbeddings).max(1);
    Some(FieldError {
        field: FieldId::PositionRows,
        message: "A learned position table needs at least one row.".to_owned(),
        way_out: Some((format!("Use {} rows", count(rows)), Value::Integer(rows))),
    })
}

/// Not every stack is modelled with these degrees.
fn check_stack(scenario: &Scenario) -> Option<FieldError> {
    const DEGREES: [FieldId; 4] = [
        FieldId::ContextParallel,
        FieldId::ExpertParallel,
        FieldId::ExpertTensorParallel,
        FieldId::VirtualPipeline,
    ];
    if scenario.mode() == Mode::Serve || scenario.word::<Stack>(FieldId::Stack).has_all_degrees {
        return None;
    }
    let id = DEGREES
        .into_iter()
        .find(|id| scenario.optional_integer(*id).is_some_and(|degree| degree > 1))?;
    Some(FieldError {
        field: id,
        message: format!(
            "{} is modelled for the stack {} only.",
            field(id).label,
            Stack::names_with_all_degrees()
        ),
        way_out: Some(("Use 1".to_owned(), Value::Integer(1))),
    })
}

/// A token cannot go through more experts than there are.
fn check_experts(scenario: &Scenario) -> Option<FieldError> {
    let moe = scenario.experts().filter(|_| !scenario.reads_keys())?;
    (moe.num_experts_per_tok > moe.num_experts).then(|| FieldError {
        field: FieldId::ExpertsPerToken,
        message: format!(
            "A token cannot go through {} experts where there are {}.",
            count(moe.num_experts_per_tok),
            count(moe.num_experts)
        ),
        way_out: Some((
            format!("Use {} experts per token", count(moe.num_experts)),
            Value::Integer(moe.num_experts),
        )),
    })
}

/// GPUs must be a multiple of tensor times pipeline ranks.
fn check_gpus(scenario: &Scenario) -> Option<FieldError> {
    let gpus = scenario.integer(FieldId::Gpus);
    let (t, p) =
        (scenario.integer(FieldId::TensorParallel), scenario.integer(FieldId::PipelineParallel));
    let cp =
        if scenario.mode() == Mode::Serve { 1 } else { scenario.integer(FieldId::ContextParallel) };
    let group = t.saturating_mul(p).saturating_mul(cp);
    let FieldKind::Integer { max, .. } = field(FieldId::Gpus).kind else { return None };
    if gpus == 0 || group == 0 || gpus.is_multiple_of(group) {
        return None;
    }
    let context = if cp > 1 { format!(" × {} context", count(cp)) } else { String::new() };
    let ranks = format!("{} tensor × {} pipeline{context} ranks need", count(t), count(p));
    if group > max {
        return Some(FieldError {
            field: FieldId::TensorParallel,
            message: format!(
                "{ranks} {} GPUs, more than the {} this page counts.",
                count(group),
                count(max)
            ),
            way_out: Some(("Use 1 tensor rank".to_owned(), Value::Integer(1))),
        });
    }
    let below = gpus / group * group;
    let above = below.saturating_add(group);
    let (reason, nearest) = if below == 0 {
        (format!("is too few: {} is the nearest", count(above)), above)
    } else if above > max {
        (format!("is none: {} is the nearest", count(below)), below)
    } else {
        let nearest = if gpus - below < above - gpus { below } else { above };
        (format!("is none: {} and {} are the nearest", count(below), count(above)), nearest)
    };
    Some(FieldError {
        field: FieldId::Gpus,
        message: format!("{ranks} a multiple of {} GPUs; {} {reason}.", count(group), count(gpus)),
        way_out: Some((format!("Use {} GPUs", count(nearest)), Value::Integer(nearest))),
    })
}

/// A count with grouped digits.
pub(super) fn count(number: u64) -> String {
    grouped(to_f64(number), 0)
}
