//! The inputs of a scenario that are about serving.

use super::resolve::count;
use super::{FieldError, FieldId, Mode, Scenario, Value, field_of_key};
use crate::config::{Engine, Host, InHostMemory, LengthMix, ServingRun, WeightFormat};
use crate::units::{Bytes, to_f64};

impl Scenario {
    /// The serving run, unchecked.
    pub(super) fn serving(&self) -> ServingRun {
        let quantization: WeightFormat = self.word(FieldId::WeightDType);
        let mean = self.optional_integer(FieldId::MeanTokens);
        ServingRun {
            context_length: self.integer(FieldId::ContextLength),
            concurrent_sequences: self.integer(FieldId::ConcurrentSequences),
            others_wait: self.flag(FieldId::OthersWait),
            prefill_chunk_size: self.integer(FieldId::PrefillChunkSize),
            prompt_length: self.optional_integer(FieldId::PromptLength),
            source_length: self.optional_integer(FieldId::SourceLength),
            images: self.images(),
            shared_prefix: self.integer(FieldId::SharedPrefix),
            lengths: mean.map(|mean| LengthMix {
                mean,
                p95: self.optional_integer(FieldId::TailTokens).unwrap_or(mean),
            }),
            users: self.optional_integer(FieldId::Users),
            quantization,
            group_size: self.integer(FieldId::GroupSize),
            kv_cache_dtype: self.word(FieldId::KvCacheDType),
            engine: self.engine(),
            block_size: self.optional_integer(FieldId::BlockSize),
            cuda_graphs: self.gibibytes(FieldId::CudaGraphs),
            adapter_slots: self.integer(FieldId::AdapterSlots),
            adapter_rank: self.integer(FieldId::SlotRank),
            draft: self.draft(quantization),
            expert_parallel: self.flag(FieldId::WholeExperts),
            sends_tokens: self.flag(FieldId::TokensSent),
            in_host_memory: InHostMemory {
                gpu_layers: self.optional_integer(FieldId::GpuLayers),
                expert_layers: self.integer(FieldId::ExpertLayersOnHost),
                cache: self.flag(FieldId::CacheOnHost),
                weights: self.gibibytes(FieldId::WeightsOnHost),
            },
            activation_dtype: quantization.activation(),
            attention: self.word(FieldId::Attention),
            overhead_percent: self.decimal(FieldId::ServingOverhead).unwrap_or_default(),
        }
    }

    /// The host beside the accelerator.
    pub(super) fn host(&self) -> Host {
        let rate = |id, unit: f64| self.decimal(id).map(|value| value * unit);
        Host {
            memory: rate(FieldId::HostMemory, to_f64(Bytes::GIB))
                .map(|bytes| Bytes(super::number::round_u64(bytes))),
            bandwidth: rate(FieldId::HostBandwidth, 1e9).unwrap_or(Host::ASSUMED.bandwidth),
            rate: rate(FieldId::HostRate, 1e12).unwrap_or(Host::ASSUMED.rate),
            link: rate(FieldId::HostLink, 1e9),
        }
    }

    /// The engine that is chosen, with the share of memory that its own field says.
    pub(super) fn engine(&self) -> Engine {
        let Value::Choice(key) = self.get(FieldId::Server) else { return Engine::DEFAULT };
        let mut engine = Engine::named(key, 1.0).unwrap_or(Engine::DEFAULT);
        let field = engine.share.as_ref().and_then(|share| field_of_key(share.key));
        engine.memory_share =
            field.and_then(|field| self.decimal(field.id)).unwrap_or(engine.memory_share);
        engine
    }
}

/// Slots for adapters are counted by the rule of an engine that is known to have one.
pub(super) fn check_slots(scenario: &Scenario) -> Option<FieldError> {
    let run = (scenario.mode() == Mode::Serve).then(|| scenario.serving())?;
    if run.adapter_slots == 0 || run.engine.adapter_slots.is_some() {
        return None;
    }
    let known: Vec<&str> = Engine::SPECS
        .iter()
        .filter(|spec| spec.adapter_slots.is_some())
        .map(|spec| spec.label)
        .collect();
    Some(FieldError {
        field: FieldId::AdapterSlots,
        message: format!(
            "The memory of slots for adapters is known of {} alone.",
            known.join(" and ")
        ),
        way_out: Some(("Use no slots".to_owned(), Value::Integer(0))),
    })
}

/// Nearly all sequences cannot be shorter than the mean one, and none is longer than the context.
pub(super) fn check_lengths(scenario: &Scenario) -> Option<FieldError> {
    if scenario.mode() != Mode::Serve {
        return None;
    }
    let context = scenario.integer(FieldId::ContextLength);
    let [mean, tail] =
        [FieldId::MeanTokens, FieldId::TailTokens].map(|id| scenario.optional_integer(id));
    let mean = mean?;
    let (field, what, to) = if mean > context {
        (
            FieldId::MeanTokens,
            format!(
                "A mean of {} tokens is more than the context of {}.",
                count(mean),
                count(context)
            ),
            context,
        )
    } else {
        let tail = tail?;
        if tail < mean {
            (
                FieldId::TailTokens,
                format!(
                    "95 of 100 sequences cannot be shorter than the mean of {} tokens.",
                    count(mean)
                ),
                mean,
            )
        } else if tail > context {
            (
                FieldId::TailTokens,
                format!("{} tokens are more than the context of {}.", count(tail), count(context)),
                context,
            )
        } else {
            return None;
        }
    };
    Some(FieldError {
        field,
        message: what,
        way_out: Some((format!("Use {} tokens", count(to)), Value::Integer(to))),
    })
}
