//! Recipes of Megatron-Bridge: the settings that each makes, which a command's overrides change.
//!
//! The table is written by `tests/data/tools/megatron_recipes.py` from the recipes of
//! megatron-bridge 0.3.1. Its columns: name, model, kind; degrees of tensor, pipeline, virtual
//! pipeline, context, expert and expert tensor parallelism; sequence parallelism; tokens, global
//! batch, micro-batch; recomputation with method, layers and modules; fused loss; reduction beside
//! backward; gradients in fp32; rank, alpha and places of adapters; the dispatcher of experts; and
//! what Headroom does not model of it.

use super::layers;
use crate::catalog::ModelRow;
use crate::launch::model_names;
use crate::scenario::{FieldId, Value};

const TABLE: &str = include_str!("megatron_recipes.txt");

/// One recipe: its columns.
#[derive(Clone, Debug)]
pub struct Recipe(Vec<&'static str>);

/// The kind of training that a recipe is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All weights, from the start.
    Pretrain,
    /// All weights, on examples.
    Full,
    /// Adapters.
    Adapters,
}

impl Recipe {
    fn all() -> impl Iterator<Item = Self> {
        TABLE.lines().map(|line| Self(line.split(' ').collect()))
    }

    /// The recipe of that name. Those of later versions name GPU and format, too:
    /// `llama3_8b_pretrain_2gpu_h100_bf16_config`.
    pub fn named(name: &str) -> Option<Self> {
        let shorter = name
            .split('_')
            .filter(|part| !part.ends_with("gpu") && !matches!(*part, "h100" | "bf16"));
        let shorter = shorter.collect::<Vec<_>>().join("_");
        Self::all()
            .find(|recipe| recipe.name() == name)
            .or_else(|| Self::all().find(|recipe| recipe.name() == shorter))
    }

    /// The model of a recipe whose name begins as one of the table, or as a model's:
    /// `qwen3_8b_finetune_config`, the name of recipes until 0.2.
    pub fn model_called(name: &str) -> Option<String> {
        let start = |name: &str| {
            let ends = ["_pretrain_", "_sft_", "_peft_", "_finetune_"];
            ends.iter().find_map(|end| name.split_once(end)).map(|(start, _)| start.to_owned())
        };
        let wanted = start(name)?;
        Self::all()
            .find(|recipe| start(recipe.name()).as_deref() == Some(wanted.as_str()))
            .map(|recipe| recipe.model().to_owned())
            .or_else(|| {
                let model = wanted.replace('_', "-");
                model_names::row_called(&model).map(|_| model)
            })
    }

    /// The first recipe of that kind for a model.
    pub fn of(row: &ModelRow, kind: Kind) -> Option<Self> {
        let is_of = |recipe: &Self| {
            model_names::row_called(recipe.cell(1)).is_some_and(|(own, _)| own.id == row.id)
        };
        Self::all().find(|recipe| recipe.kind() == kind && is_of(recipe))
    }

    fn cell(&self, at: usize) -> &'static str {
        self.0.get(at).copied().unwrap_or_default()
    }

    fn number(&self, at: usize) -> u64 {
        self.cell(at).parse().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.cell(0)
    }

    /// Its model on the hub.
    pub fn model(&self) -> &'static str {
        self.cell(1)
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        match self.cell(2) {
            "pretrain" => Kind::Pretrain,
            "sft" => Kind::Full,
            _ => Kind::Adapters,
        }
    }

    /// Settings of it that change memory and are not modelled.
    pub fn not_modelled(&self) -> impl Iterator<Item = &'static str> {
        self.cell(24).split(',').filter(|name| *name != "-")
    }

    /// Names of the layers that its adapters stand beside; none: all linear layers.
    pub fn adapted(&self) -> Vec<String> {
        self.cell(22).split(',').filter(|name| *name != "-").map(str::to_owned).collect()
    }

    /// Its global batch.
    pub fn batch(&self) -> u64 {
        self.number(11)
    }

    /// The settings that every recipe makes.
    fn always(&self) -> Vec<(&'static str, FieldId, Value)> {
        let or_empty = |number| if number == 0 { Value::Empty } else { Value::Integer(number) };
        let flag = |at| Value::Flag(self.number(at) == 1);
        vec![
            (
                "model.tensor_model_parallel_size",
                FieldId::TensorParallel,
                Value::Integer(self.number(3)),
            ),
            (
                "model.pipeline_model_parallel_size",
                FieldId::PipelineParallel,
                Value::Integer(self.number(4)),
            ),
            (
                "model.context_parallel_size",
                FieldId::ContextParallel,
                Value::Integer(self.number(6)),
            ),
            (
                "model.expert_model_parallel_size",
                FieldId::ExpertParallel,
                Value::Integer(self.number(7)),
            ),
            (
                "model.expert_tensor_parallel_size",
                FieldId::ExpertTensorParallel,
                or_empty(self.number(8)),
            ),
            ("model.sequence_parallel", FieldId::SequenceParallel, flag(9)),
            ("model.seq_length", FieldId::SeqLength, Value::Integer(self.number(10))),
            ("train.global_batch_size", FieldId::GlobalBatchSize, Value::Integer(self.batch())),
            ("train.micro_batch_size", FieldId::MicroBatchSize, Value::Integer(self.number(12))),
            ("model.recompute_granularity", FieldId::Recompute, Value::Choice(self.cell(13))),
            ("model.cross_entropy_fusion_impl", FieldId::LossFusion, Value::Choice(self.cell(17))),
            ("ddp.overlap_grad_reduce", FieldId::OverlapGradReduce, flag(18)),
        ]
    }

    /// The settings that it makes: Megatron-Bridge's word, the input, its value.
    pub fn settings(&self) -> Vec<(&'static str, FieldId, Value)> {
        let mut all = self.always();
        if self.number(5) > 1 {
            all.push((
                "model.virtual_pipeline_model_parallel_size",
                FieldId::VirtualPipeline,
                Value::Integer(self.number(5)),
            ));
        }
        if self.cell(14) != "-" {
            all.push((
                "model.recompute_method",
                FieldId::RecomputeMethod,
                Value::Choice(self.cell(14)),
            ));
            all.push((
                "model.recompute_num_layers",
                FieldId::RecomputeLayers,
                Value::Integer(self.number(15)),
            ));
        }
        let fp32 = if self.number(19) == 1 { "fp32" } else { "as-weights" };
        all.push(("mixed_precision.grad_reduce_in_fp32", FieldId::Gradients, Value::Choice(fp32)));
        if self.cell(23) != "-" {
            all.push((
                "model.moe_token_dispatcher_type",
                FieldId::TokenDispatcher,
                Value::Choice(self.cell(23)),
            ));
        }
        if self.kind() == Kind::Adapters {
            let alpha = crate::units::to_f64(self.number(21));
            all.push(("peft.dim", FieldId::Rank, Value::Integer(self.number(20))));
            all.push(("peft.alpha", FieldId::LoraAlpha, Value::Decimal(alpha)));
        }
        all
    }

    /// Modules that it recomputes selectively, by Megatron-Core's names; none: the attention core.
    pub fn recomputed(&self) -> impl Iterator<Item = &'static str> {
        self.cell(16).split(',').filter(|name| *name != "-")
    }
}

/// Every linear layer has an adapter where a recipe names none.
pub fn all_layers(mut set: impl FnMut(FieldId, Value)) {
    for id in layers::ALL {
        set(id, Value::Flag(true));
    }
}
