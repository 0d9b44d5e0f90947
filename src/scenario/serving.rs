//! What a scenario says about serving.

use super::resolve::count;
use super::{FieldError, FieldId, Mode, Scenario, Value};
use crate::config::{LengthMix, Reservation, ServingRun, WeightFormat};

impl Scenario {
    /// The serving run, unchecked.
    pub(super) fn serving(&self) -> ServingRun {
        let quantization: WeightFormat = self.word(FieldId::WeightDType);
        let mean = self.optional_integer(FieldId::MeanTokens);
        ServingRun {
            context_length: self.integer(FieldId::ContextLength),
            concurrent_sequences: self.integer(FieldId::ConcurrentSequences),
            prefill_chunk_size: self.integer(FieldId::PrefillChunkSize),
            prompt_length: self.optional_integer(FieldId::PromptLength),
            shared_prefix: self.integer(FieldId::SharedPrefix),
            lengths: mean.map(|mean| LengthMix { mean, p95: self.optional_integer(FieldId::TailTokens).unwrap_or(mean) }),
            users: self.optional_integer(FieldId::Users),
            quantization,
            group_size: self.integer(FieldId::GroupSize),
            kv_cache_dtype: self.word(FieldId::KvCacheDType),
            reservation: self.reservation(),
            block_size: self.optional_integer(FieldId::BlockSize),
            cuda_graphs: self.gibibytes(FieldId::CudaGraphs),
            expert_parallel: self.flag(FieldId::WholeExperts),
            sends_tokens: self.flag(FieldId::TokensSent),
            activation_dtype: quantization.activation(),
            attention: self.word(FieldId::Attention),
            overhead_percent: self.decimal(FieldId::ServingOverhead).unwrap_or_default(),
        }
    }

    fn reservation(&self) -> Reservation {
        match self.get(FieldId::Server) {
            Value::Choice("vllm") => Reservation::Vllm(self.decimal(FieldId::MemoryUtilization).unwrap_or(1.0)),
            Value::Choice("sglang") => Reservation::Sglang(self.decimal(FieldId::StaticFraction).unwrap_or(1.0)),
            Value::Choice("llama-cpp") => Reservation::LlamaCpp,
            _ => Reservation::None,
        }
    }
}

/// Nearly all sequences cannot be shorter than the mean one, and none is longer than the context.
pub(super) fn check_lengths(scenario: &Scenario) -> Option<FieldError> {
    if scenario.mode() != Mode::Serve {
        return None;
    }
    let context = scenario.integer(FieldId::ContextLength);
    let [mean, tail] = [FieldId::MeanTokens, FieldId::TailTokens].map(|id| scenario.optional_integer(id));
    let mean = mean?;
    let (field, what, to) = if mean > context {
        (
            FieldId::MeanTokens,
            format!("A mean of {} tokens is more than the context of {}.", count(mean), count(context)),
            context,
        )
    } else {
        let tail = tail?;
        if tail < mean {
            (FieldId::TailTokens, format!("95 of 100 sequences cannot be shorter than the mean of {} tokens.", count(mean)), mean)
        } else if tail > context {
            (FieldId::TailTokens, format!("{} tokens are more than the context of {}.", count(tail), count(context)), context)
        } else {
            return None;
        }
    };
    Some(FieldError { field, message: what, way_out: Some((format!("Use {} tokens", count(to)), Value::Integer(to))) })
}
