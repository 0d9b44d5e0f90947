//! GGUF: the blocks of ggml's types, and which type llama.cpp gives each tensor of a mix.

use crate::config::{ModelConfig, WeightFormat};
use crate::units::DType;

use super::Place;

/// A type of ggml: numbers of one width in blocks, with further bytes for each block
/// (ggml-common.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The numbers themselves.
    pub payload: DType,
    /// Numbers in one block.
    pub numbers: u64,
    /// Further bytes of a block: scales, minima, signs.
    pub beside: u64,
}

const fn block(payload: DType, numbers: u64, beside: u64) -> Block {
    Block { payload, numbers, beside }
}

const F32: Block = block(DType::Fp32, 1, 0);
const F16: Block = block(DType::Fp16, 1, 0);
const Q8_0: Block = block(DType::Int8, 32, 2);
const Q5_1: Block = block(DType::Int5, 32, 4);
const Q5_0: Block = block(DType::Int5, 32, 2);
const Q4_1: Block = block(DType::Int4, 32, 4);
const Q4_0: Block = block(DType::Int4, 32, 2);
const MXFP4: Block = block(DType::Int4, 32, 1);
const Q6_K: Block = block(DType::Int6, 256, 18);
const Q5_K: Block = block(DType::Int5, 256, 16);
const Q4_K: Block = block(DType::Int4, 256, 16);
const Q3_K: Block = block(DType::Int3, 256, 14);
const Q2_K: Block = block(DType::Int2, 256, 20);
const IQ4_NL: Block = block(DType::Int4, 32, 2);
const IQ4_XS: Block = block(DType::Int4, 256, 8);
const IQ3_S: Block = block(DType::Int3, 256, 14);
const IQ3_XXS: Block = block(DType::Int3, 256, 2);
const IQ2_S: Block = block(DType::Int2, 256, 18);
const IQ2_XS: Block = block(DType::Int2, 256, 10);
const IQ2_XXS: Block = block(DType::Int2, 256, 2);
const IQ1_M: Block = block(DType::Int1, 256, 24);
const IQ1_S: Block = block(DType::Int1, 256, 18);

/// Facts of a model that the rules for its tensors' types depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Layers.
    layers: u64,
    /// Query heads for each key/value head.
    group: u64,
    /// Experts in a layer, 0 for none.
    experts: u64,
    /// Rows are no multiple of 256 numbers, as Falcon's.
    odd_rows: bool,
    /// True for a model that llama.cpp counts as 70B: 80 layers of llama or Qwen2.
    seventy: bool,
    tied: bool,
}

impl Facts {
    pub fn of(model: &ModelConfig) -> Self {
        let rules = model.family.modules().gguf;
        Self {
            layers: model.num_hidden_layers,
            group: model.num_attention_heads / model.num_key_value_heads.max(1),
            experts: model.moe.as_ref().map_or(0, |moe| moe.num_experts),
            odd_rows: rules.rows_of_odd_length,
            seventy: model.num_hidden_layers == 80 && rules.eighty_layers_are_70b,
            tied: model.tie_word_embeddings,
        }
    }

    /// The layers that a mix gives more bits: the first and last eighth, and every third between.
    const fn more(&self, layer: u64) -> bool {
        let eighth = self.layers / 8;
        layer < eighth || layer >= 7 * self.layers / 8 || (layer - eighth) % 3 == 2
    }
}

/// True if the rules treat some layers of that place differently.
pub(super) const fn by_layer(place: Place) -> bool {
    matches!(place, Place::Value | Place::Joint | Place::Down | Place::Up)
}

/// The type of a tensor with rows of so many numbers. Mixes with an `I` of three bits and fewer are
/// made with an importance matrix, which they need to be of use; the others without.
pub(super) fn chosen(
    format: WeightFormat,
    place: Place,
    (layer, input): (u64, u64),
    facts: &Facts,
) -> Block {
    if place == Place::Small {
        return F32;
    }
    fallback(mixed(format, place, layer, input, facts), input)
}

/// The type of most tensors of a mix.
const fn usual(format: WeightFormat) -> Block {
    use WeightFormat as W;
    match format {
        W::Q8_0 | W::Mxfp4Moe => Q8_0,
        W::Q6K => Q6_K,
        W::Q5KM | W::Q5KS => Q5_K,
        W::Q5_1 => Q5_1,
        W::Q5_0 => Q5_0,
        W::Q4KM | W::Q4KS => Q4_K,
        W::Q4_1 => Q4_1,
        W::Q4_0 => Q4_0,
        W::Iq4Nl => IQ4_NL,
        W::Iq4Xs => IQ4_XS,
        W::Q3KL | W::Q3KM | W::Q3KS => Q3_K,
        W::Iq3M | W::Iq3S | W::Iq3Xs => IQ3_S,
        W::Iq3Xxs => IQ3_XXS,
        W::Q2K | W::Q2KS => Q2_K,
        W::Iq2M => IQ2_S,
        W::Iq2S | W::Iq2Xs => IQ2_XS,
        W::Iq2Xxs => IQ2_XXS,
        W::Iq1M => IQ1_M,
        W::Iq1S => IQ1_S,
        _ => F16,
    }
}

/// Mixes of two bits and fewer, which have rules of their own.
const fn is_small(format: WeightFormat) -> bool {
    use WeightFormat as W;
    matches!(format, W::Iq2M | W::Iq2S | W::Iq2Xs | W::Iq2Xxs | W::Iq1M | W::Iq1S)
}

fn mixed(format: WeightFormat, place: Place, layer: u64, input: u64, facts: &Facts) -> Block {
    use WeightFormat as W;
    let usual = usual(format);
    match (format, place) {
        (W::Gguf16, _) => usual,
        (_, Place::Head) => head(format, usual, input, facts),
        (_, Place::Embedding) if facts.tied => head(format, usual, input, facts),
        (W::Mxfp4Moe, Place::Up | Place::Down) if facts.experts > 0 => MXFP4,
        (W::Iq2Xxs | W::Iq2Xs | W::Iq1S | W::Iq1M, Place::Embedding) => Q2_K,
        (W::Iq2S | W::Iq2M | W::Iq3Xxs, Place::Embedding) => IQ3_S,
        _ if is_small(format) => small(format, place, layer, facts),
        (_, Place::Value | Place::Joint) => value(format, layer, facts),
        (_, Place::Key) if facts.experts == 8 => Q8_0,
        (W::Iq3Xs, Place::Key | Place::Query) => IQ3_XXS,
        (W::Iq3Xxs, Place::Key | Place::Query) => IQ2_S,
        (_, Place::Down) => down(format, layer, facts),
        (_, Place::Output) => output(format, facts),
        (W::Iq3Xs, Place::Up) if layer >= facts.layers / 8 && layer < 7 * facts.layers / 8 => {
            IQ3_XXS
        }
        _ => usual,
    }
}

/// The output head, and a token embedding that serves as one.
fn head(format: WeightFormat, usual: Block, input: u64, facts: &Facts) -> Block {
    if facts.odd_rows || !input.is_multiple_of(usual.numbers) {
        return Q8_0;
    }
    match format {
        WeightFormat::Mxfp4Moe => Q8_0,
        // Of the small mixes all but the largest of three bits.
        format if is_small(format) || format == WeightFormat::Iq3Xxs => Q5_K,
        _ if usual == Q8_0 => Q8_0,
        _ => Q6_K,
    }
}

fn small(format: WeightFormat, place: Place, layer: u64, facts: &Facts) -> Block {
    use WeightFormat as W;
    let larger = if matches!(format, W::Iq2S | W::Iq2M) { IQ3_S } else { Q2_K };
    match place {
        Place::Value | Place::Joint if facts.group >= 4 || facts.experts >= 4 => Q4_K,
        Place::Value | Place::Joint => larger,
        Place::Key if facts.experts == 8 => Q4_K,
        Place::Down if layer < facts.layers / 8 => larger,
        Place::Output if facts.experts == 8 => Q5_K,
        Place::Output => match format {
            W::Iq1S | W::Iq1M => IQ2_XXS,
            W::Iq2S | W::Iq2M => IQ3_S,
            _ => usual(format),
        },
        _ => usual(format),
    }
}

fn value(format: WeightFormat, layer: u64, facts: &Facts) -> Block {
    use WeightFormat as W;
    if facts.experts == 8 {
        return Q8_0;
    }
    let grouped = facts.group >= 4;
    let found = match format {
        W::Q2K if !grouped => Q3_K,
        W::Q2K | W::Iq3M => Q4_K,
        W::Q2KS | W::Iq3Xxs | W::Iq3Xs | W::Iq3S if grouped => Q4_K,
        W::Q3KM if layer >= 2 => Q4_K,
        W::Q3KM | W::Q3KL => Q5_K,
        W::Iq4Nl | W::Iq4Xs if grouped => Q5_K,
        W::Q4KM | W::Q5KM if facts.more(layer) => Q6_K,
        W::Q4KS if layer < 4 => Q5_K,
        _ => usual(format),
    };
    if facts.seventy && (found == Q3_K || found == Q4_K) { Q5_K } else { found }
}

fn down(format: WeightFormat, layer: u64, facts: &Facts) -> Block {
    use WeightFormat as W;
    let more = facts.more(layer);
    let first = |part: u64| layer < facts.layers / part;
    match format {
        W::Q2K => Q3_K,
        W::Q2KS if first(8) => Q4_K,
        W::Q3KM if first(16) => Q5_K,
        W::Q3KM if !facts.odd_rows || more => Q4_K,
        W::Iq3M if first(8) || (facts.experts == 8 && more) => Q4_K,
        W::Q3KL => {
            if facts.odd_rows {
                Q4_K
            } else {
                Q5_K
            }
        }
        W::Q4KM if facts.odd_rows && !first(16) && more => Q5_K,
        W::Q4KM if (facts.odd_rows && first(16)) || (!facts.odd_rows && more) => Q6_K,
        W::Q5KM if more => Q6_K,
        W::Q4KS if !facts.odd_rows && first(8) => Q5_K,
        W::Iq4Nl | W::Iq4Xs if first(8) => Q5_K,
        _ => usual(format),
    }
}

fn output(format: WeightFormat, facts: &Facts) -> Block {
    use WeightFormat as W;
    match format {
        W::Q3KL if facts.odd_rows => Q4_K,
        _ if facts.odd_rows => usual(format),
        W::Q2K
        | W::Iq3Xs
        | W::Iq3Xxs
        | W::Q3KS
        | W::Q3KM
        | W::Iq4Nl
        | W::Q4KS
        | W::Q4KM
        | W::Iq3S
        | W::Iq3M
        | W::Iq4Xs
            if facts.experts == 8 =>
        {
            Q5_K
        }
        _ if facts.experts == 8 => usual(format),
        W::Q2K => Q3_K,
        W::Iq3Xxs => IQ3_S,
        W::Q3KM | W::Iq3M => Q4_K,
        W::Q3KL => Q5_K,
        _ => usual(format),
    }
}

/// Rows that are no whole blocks get the nearest type with smaller blocks, or 16 bits.
fn fallback(block: Block, input: u64) -> Block {
    if input.is_multiple_of(block.numbers) {
        return block;
    }
    let smaller = match block {
        Q6_K => Q8_0,
        Q5_K => Q5_1,
        Q4_K => Q5_0,
        Q3_K | Q2_K => Q4_0,
        _ => IQ4_NL,
    };
    if block.numbers > 32 && input.is_multiple_of(smaller.numbers) { smaller } else { F16 }
}
