//! The way from the user's inputs to a checked job, or to every problem at once.

mod layout;
mod rules;
use rules::{check_experts, check_gpus, check_heads, check_positions, check_stack};
mod architecture;
mod hybrid;
mod listed;
mod tuning;

use std::num::NonZeroU64;

use super::{FieldId, FieldKind, Mode, Scenario, Value, field, fields, number, parse, range_text};
use super::{drafting, serving};
use crate::config::{
    Accelerator, Cluster, Dispatch, Evaluation, Float8, Float8Recipe, Images, Job, Narrow,
    Overheads, PeakRates, ProductFormat, Run, Speed, TrainingRun, Tuning,
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
                masks_windows: self.asks(FieldId::MaskedWindows)
                    && self.flag(FieldId::MaskedWindows),
                dropout: self.dropout(),
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
            host: self.host(),
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

/// A count with grouped digits.
pub(super) fn count(number: u64) -> String {
    grouped(to_f64(number), 0)
}
