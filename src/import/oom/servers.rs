//! Messages of vLLM, SGLang, Text Generation Inference and Ollama.
//!
//! Sources: vllm/v1/core/kv_cache_utils.py, vllm/worker/worker.py, vllm/v1/worker/utils.py and
//! gpu_model_runner.py; sglang's model_runner.py, pool_configurator.py and mem_cache/common.py;
//! text_generation_server's flash_causal_lm.py; ollama's server.go.

use super::Parsed;
use super::amount::{PrintedAmount, printed_at};
use super::message::{FailedRequest, OomMessage, ReportingProgram};
use super::scan::{Window, amount, amount_until, decimal_at, number_at};

/// The number of tokens behind "max seq len (" before the phrase.
fn max_seq_len(before: &str) -> Option<u64> {
    let (_, number) = before.rsplit_once("maxseqlen(")?;
    number_at(number)
}

/// "Available KV cache memory: -0.3 GiB", which vLLM logs before it gives up: the amount, and
/// whether it is below zero.
fn logged_available(before: &str, message: &mut OomMessage) {
    let Some((_, after)) = before.rsplit_once("availablekvcachememory:") else { return };
    let positive = after.strip_prefix('-').unwrap_or(after);
    let logged = printed_at(positive, 0, false).and_then(|(printed, _)| amount(printed));
    if positive.len() < after.len() {
        message.short_by = logged;
    } else {
        message.available = logged;
    }
}

/// "No available memory for the cache blocks."
pub(super) fn no_cache_blocks(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Vllm, FailedRequest::KvCache);
    logged_available(window.before(20_000), &mut message);
    Parsed::found(message, window.end_of(&["noavailablememoryforthecacheblocks"]))
}

/// "The model's max seq len (32768) is larger than the maximum number of tokens that can be stored
/// in KV cache (7344)."
pub(super) fn too_few_tokens(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Vllm, FailedRequest::KvCache);
    message.max_seq_len = max_seq_len(window.before(60));
    message.tokens_available = window.number_after("storedinkvcache(");
    Parsed::found(message, window.end_of(&["storedinkvcache("]))
}

/// "… 24.00 GiB KV cache is needed, which is larger than the available KV cache memory (9.97 GiB)."
pub(super) fn cache_needed(window: &Window<'_>) -> Parsed {
    let before = window.before(120);
    let mut message = OomMessage::of(ReportingProgram::Vllm, FailedRequest::KvCache);
    message.max_seq_len = max_seq_len(before);
    message.needed = amount_until(before);
    message.available = window.amount_after("availablekvcachememory(");
    message.estimated_max_len = window.number_after("estimatedmaximummodellengthis");
    Parsed::found(
        message,
        window.end_of(&["availablekvcachememory(", "estimatedmaximummodellengthis"]),
    )
}

/// "Free memory on device cuda:0 (12.18/23.56 GiB) on startup is less than desired GPU memory
/// utilization (0.92, 21.67 GiB)."
pub(super) fn startup(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Vllm, FailedRequest::Startup);
    let before = window.before(60);
    if let Some((_, device)) = before.rsplit_once("cuda:") {
        message.device.index = number_at(device).and_then(|number| u32::try_from(number).ok());
    }
    if let Some((free, total)) =
        before.strip_suffix(')').and_then(|text| text.rsplit_once('(')?.1.split_once('/'))
    {
        message.total = amount_until(total);
        // Both are printed with the unit of the second.
        let unit =
            total.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
        message.free = amount_until(&format!("{free}{unit}"));
    }
    let utilization = "gpumemoryutilization(";
    message.fraction = window.share_after(utilization);
    let after = window.after().split_once(utilization).and_then(|(_, rest)| rest.split_once(')'));
    message.needed = after.and_then(|(inner, _)| amount_until(inner.rsplit_once(',')?.1));
    Parsed::found(message, window.end_of(&[utilization]))
}

/// "CUDA out of memory occurred when warming up sampler with 256 dummy requests."
pub(super) fn warm_up(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Vllm, FailedRequest::WarmUp);
    message.device.platform = Some("CUDA");
    message.dummy_requests = window.number_before("dummyrequests");
    Parsed::found(message, window.end_of(&["warmingup", "dummyrequests"]))
}

/// "Not enough memory. Please try to increase --mem-fraction-static." and what follows it in newer
/// versions.
pub(super) fn sglang_pool(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Sglang, FailedRequest::KvCache);
    message.fraction = window.share_after("mem_fraction_static=");
    Parsed::found(message, window.end_of(&["notenoughmemory", "mem_fraction_static="]))
}

/// "Decode out of memory. Try to lower your batch size. Try to allocate 148 tokens. Available
/// tokens: 2048".
pub(super) fn sglang_tokens(window: &Window<'_>) -> Parsed {
    let before = window.before(7);
    if !before.ends_with("decode") && !before.ends_with("prefill") {
        return Parsed::Nothing;
    }
    let mut message = OomMessage::of(ReportingProgram::Sglang, FailedRequest::Tokens);
    message.tokens_tried = window.number_after("trytoallocate");
    // Versions of early 2025 write "Avaliable".
    let available = window.number_after("availabletokens:");
    message.tokens_available = available.or_else(|| window.number_after("avaliabletokens:"));
    Parsed::found(
        message,
        window.end_of(&["outofmemory", "trytoallocate", "availabletokens:", "avaliabletokens:"]),
    )
}

/// "The memory capacity is unbalanced. … min_per_gpu_memory=16.28, local_gpu_memory=46.81", in GiB
/// without a unit.
pub(super) fn sglang_unbalanced(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Sglang, FailedRequest::Startup);
    let amount = |name: &str| {
        let (_, rest) = window.after().split_once(name)?;
        PrintedAmount::parse(&format!("{} GB", decimal_at(rest)?))
    };
    let least = ["min_per_gpu_memory=", "pre_model_load_memory=", "min_available_device_memory="];
    message.available = least.into_iter().find_map(amount);
    message.needed = ["local_gpu_memory=", "local_device_memory="].into_iter().find_map(amount);
    Parsed::found(
        message,
        window.end_of(&["isunbalanced", "local_gpu_memory=", "local_device_memory="]),
    )
}

/// "Not enough memory to handle 16000 total tokens with 2 prefill tokens."
pub(super) fn tgi(window: &Window<'_>) -> Parsed {
    let mut message =
        OomMessage::of(ReportingProgram::TextGenerationInference, FailedRequest::WarmUp);
    message.tokens_tried = window.number_after("notenoughmemorytohandle");
    Parsed::found(message, window.end_of(&["notenoughmemorytohandle"]))
}

/// "model requires more system memory (44.0 GiB) than is available (7.6 GiB)".
pub(super) fn ollama(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Ollama, FailedRequest::HostMemory);
    message.needed = window.amount_after("memory(");
    message.available = window.amount_after("isavailable(");
    Parsed::found(message, window.end_of(&["requiresmoresystemmemory", "isavailable("]))
}
