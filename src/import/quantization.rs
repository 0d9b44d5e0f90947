//! The format of quantised weights, as a file's `quantization_config` states it.

use super::How;
use super::reader::Reader;
use super::sizes;
use super::value::{Object, Value};
use crate::config::WeightFormat;

/// The most weights that share a scale; more is no number of a file.
const MOST_PER_SCALE: u64 = 65_536;

/// How a file's weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// The format.
    pub format: WeightFormat,
    /// Weights that share a scale, where the file states it and the format lets it be chosen.
    pub group_size: Option<u64>,
}

/// The format that the file states, told in the report; `None` without one, and for those that are
/// not listed.
pub(super) fn quantization(reader: &mut Reader<'_>) -> Option<Quantized> {
    let file = reader.quantization_config()?;
    let method = text(file, "quant_method").unwrap_or("no method");
    let found = format(file, method);
    let (how, note) = match found {
        Some(_) => (How::Read, "The format of the served weights."),
        None => (How::Ignored, "Not one of the formats listed: choose one under Run when serving."),
    };
    reader.tell("quantization_config", &super::value::shortened(method), how, note);
    found
}

fn format(file: &Object, method: &str) -> Option<Quantized> {
    let plain = |format| Some(Quantized { format, group_size: None });
    let grouped = |format, group: &[&str], bits: &[&str]| {
        let is_four = bits.iter().find_map(|key| whole(file, key)) == Some(4);
        let group_size = group.iter().find_map(|key| whole(file, key));
        // A group of all inputs is written as -1, which is no size.
        (is_four && group_size.is_some()).then_some(Quantized { format, group_size })
    };
    match method {
        "gptq" => grouped(WeightFormat::Gptq, &["group_size"], &["bits"]),
        "awq" => grouped(WeightFormat::Awq, &["group_size", "q_group_size"], &["bits", "w_bit"]),
        "fp8" if file.contains_key("weight_block_size") => plain(WeightFormat::Fp8Block),
        "fp8" => plain(WeightFormat::Fp8Tensor),
        "fbgemm_fp8" => plain(WeightFormat::Fp8Channel),
        "mxfp4" => plain(WeightFormat::Mxfp4),
        "bitsandbytes" if is(file, "load_in_8bit") => plain(WeightFormat::Int8Channel),
        "bitsandbytes" if is(file, "load_in_4bit") && is(file, "bnb_4bit_use_double_quant") => {
            plain(WeightFormat::Nf4Double)
        }
        "bitsandbytes" if is(file, "load_in_4bit") => plain(WeightFormat::Nf4),
        "compressed-tensors" => compressed(file).and_then(plain),
        "modelopt" => match text(file, "quant_algo")? {
            "FP8" => plain(WeightFormat::Fp8Tensor),
            "NVFP4" => plain(WeightFormat::Nvfp4),
            _ => None,
        },
        _ => None,
    }
}

/// The formats of compressed-tensors with eight bits: what decides is what shares a scale.
fn compressed(file: &Object) -> Option<WeightFormat> {
    let Value::Object(groups) = file.get("config_groups")? else { return None };
    let Value::Object(group) = groups.values().next()? else { return None };
    let Value::Object(weights) = group.get("weights")? else { return None };
    if whole(weights, "num_bits") != Some(8) {
        return None;
    }
    match (text(weights, "type")?, text(weights, "strategy")?) {
        ("float", "tensor") => Some(WeightFormat::Fp8Tensor),
        ("float", "channel") => Some(WeightFormat::Fp8Channel),
        ("float", "block") => Some(WeightFormat::Fp8Block),
        ("int", "channel") => Some(WeightFormat::Int8Channel),
        _ => None,
    }
}

fn text<'a>(file: &'a Object, key: &str) -> Option<&'a str> {
    match file.get(key) {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

fn whole(file: &Object, key: &str) -> Option<u64> {
    sizes::whole(key, file.get(key)?, MOST_PER_SCALE).ok()
}

fn is(file: &Object, key: &str) -> bool {
    file.get(key) == Some(&Value::Bool(true))
}
