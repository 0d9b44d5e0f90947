//! Messages of llama.cpp and ggml on all of their backends.
//!
//! Sources: ggml/src/ggml-cuda/ggml-cuda.cu, ggml-alloc.c, ggml-backend.cpp,
//! ggml-vulkan/ggml-vulkan.cpp, ggml-metal, src/llama-model.cpp. One failed request is told in
//! several lines; the caller joins them.

use super::Parsed;
use super::amount::{Print, PrintedAmount};
use super::message::{FailedRequest, OomMessage, ReportingProgram};
use super::scan::{Window, number_until};

/// Platforms by the name of a buffer: "CUDA0", "Vulkan0".
const BACKENDS: [(&str, &str); 8] = [
    ("cuda", "CUDA"),
    ("rocm", "ROCm"),
    ("hip", "HIP"),
    ("vulkan", "Vulkan"),
    ("metal", "Metal"),
    ("sycl", "SYCL"),
    ("musa", "MUSA"),
    ("cann", "CANN"),
];

fn message() -> OomMessage {
    OomMessage::of(ReportingProgram::LlamaCpp, FailedRequest::Allocation)
}

/// Notes the backend and the device that a buffer's name holds.
fn note_buffer(message: &mut OomMessage, name: &str) {
    if name.starts_with("cpu") {
        message.about = FailedRequest::HostMemory;
        return;
    }
    message.device.platform =
        BACKENDS.iter().find(|(word, _)| name.starts_with(word)).map(|(_, platform)| *platform);
    message.device.index = number_until(name).and_then(|number| u32::try_from(number).ok());
}

/// "allocating 1234.56 MiB on device 0: cudaMalloc failed: out of memory", known by "Malloc
/// failed".
pub(super) fn malloc_failed(window: &Window<'_>) -> Parsed {
    let before = window.before(80);
    let mut found = message();
    let Some((_, request)) = before.rsplit_once("allocating") else {
        let is_cuda = before.ends_with("cuda");
        found.device.platform = is_cuda.then_some("CUDA");
        return if is_cuda {
            Parsed::found(found, window.end_of(&["outofmemory"]))
        } else {
            Parsed::Nothing
        };
    };
    let (amount, device) = request.split_once("ondevice").unwrap_or((request, ""));
    found.tried = super::scan::amount_until(amount);
    let (index, call) = device.split_once(':').unwrap_or((device, ""));
    found.device.index = number_until(index).and_then(|number| u32::try_from(number).ok());
    found.device.platform =
        BACKENDS.iter().find(|(word, _)| call.starts_with(word)).map(|(_, platform)| *platform);
    Parsed::found(found, window.end_of(&["outofmemory"]))
}

/// "failed to allocate CUDA0 buffer of size 5064192000", known by "failed to allocate".
pub(super) fn buffer_of_size(window: &Window<'_>) -> Parsed {
    let after = window.after().strip_prefix("failedtoallocate").unwrap_or_default();
    let near = after.get(..after.len().min(60)).unwrap_or_default();
    let mut found = message();
    if near.starts_with("computebuffers") || near.starts_with("bufferforkvcache") {
        found.about =
            if near.starts_with("buffer") { FailedRequest::KvCache } else { FailedRequest::WarmUp };
        return Parsed::found(found, window.end_of(&["computebuffers", "bufferforkvcache"]));
    }
    if near.contains("ofpinnedmemory") {
        found.about = FailedRequest::HostMemory;
        found.tried = window.amount_after("failedtoallocate");
        return Parsed::found(found, window.end_of(&["ofpinnedmemory"]));
    }
    let Some((name, _)) = near.split_once("buffer").filter(|(name, _)| name.len() <= 20) else {
        return Parsed::Nothing;
    };
    if let Some(size) = window.number_after("bufferofsize") {
        found.tried = Some(PrintedAmount::of_bytes(size));
    } else if near.contains("buffer,size=") {
        // Metal: "error: failed to allocate buffer, size = 1234.56 MiB".
        found.tried = window.amount_after("buffer,size=");
        found.device.platform = Some("Metal");
    } else {
        return Parsed::Nothing;
    }
    if name.is_empty() && window.before(40).contains("cpu_buffer") {
        found.about = FailedRequest::HostMemory;
    } else if !name.is_empty() {
        note_buffer(&mut found, name);
    }
    Parsed::found(found, window.end_of(&["bufferofsize", "buffer,size="]))
}

/// "error loading model: unable to allocate CUDA0 buffer".
pub(super) fn unable(window: &Window<'_>) -> Parsed {
    let after = window.after().strip_prefix("unabletoallocate").unwrap_or_default();
    let Some((name, _)) = after.split_once("buffer").filter(|(name, _)| name.len() <= 20) else {
        return Parsed::Nothing;
    };
    let mut found = message();
    note_buffer(&mut found, name);
    Parsed::found(found, window.end_of(&["unabletoallocate"]))
}

/// "`ggml_vulkan`: Device memory allocation of size 1037832192 failed."
pub(super) fn vulkan(window: &Window<'_>) -> Parsed {
    let mut found = message();
    found.device.platform = Some("Vulkan");
    found.tried = window.number_after("memoryallocationofsize").map(PrintedAmount::of_bytes);
    Parsed::found(found, window.end_of(&["memoryallocationofsize", "erroroutofdevicememory"]))
}

/// "Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)".
pub(super) fn metal(window: &Window<'_>) -> Parsed {
    let mut found = message();
    found.device.platform = Some("Metal");
    Parsed::found(found, window.end_of(&["callbackerroroutofmemory"]))
}

/// "`ggml_aligned_malloc`: insufficient memory (attempted to allocate 1234.56 MB)".
pub(super) fn host(window: &Window<'_>) -> Parsed {
    let mut found = message();
    found.about = FailedRequest::HostMemory;
    match window.printed_after("attemptedtoallocate") {
        Some(Print::Amount(amount)) => found.tried = Some(amount),
        Some(Print::TooLarge) | None => return Parsed::Nothing,
    }
    Parsed::found(found, window.end_of(&["attemptedtoallocate"]))
}
