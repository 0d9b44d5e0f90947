//! Messages of JAX and XLA, TensorFlow, NCCL, CUDA's libraries and Habana's bridge.
//!
//! Sources: xla/service/gpu and tsl/framework/bfc_allocator.cc, xla's TPU compiler messages
//! (openxla.org, error 1000), tensorflow's cuda_driver.cc, nccl's src/include/alloc.h.

use super::amount::{PrintedAmount, printed_at};
use super::message::{FailedRequest, OomMessage, ReportingProgram};
use super::scan::{Window, amount};
use super::{Parsed, UnreadMessage};

/// "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes", known by "out of
/// memory".
pub(super) fn xla(window: &Window<'_>) -> Parsed {
    let phrases = ["outofmemorywhiletryingtoallocate", "outofmemoryallocating"];
    let Some(phrase) = phrases.into_iter().find(|phrase| window.after().starts_with(phrase)) else {
        return Parsed::Nothing;
    };
    let mut message = OomMessage::of(ReportingProgram::Jax, FailedRequest::Allocation);
    message.tried = window.letter_amount_after(phrase);
    if message.tried.is_some() {
        return Parsed::found(message, window.end_of(&[phrase]));
    }
    let is_number = window
        .after()
        .get(phrase.len()..)
        .is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_digit()));
    if is_number { Parsed::Refused(UnreadMessage::TooLarge) } else { Parsed::Nothing }
}

/// "Ran out of memory in memory space hbm. Used 21.47G of 15.48G hbm. Exceeded hbm capacity by
/// 5.99G."
pub(super) fn xla_compiler(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Jax, FailedRequest::Compilation);
    message.device.platform = Some("TPU");
    message.needed = window.letter_amount_after("used");
    message.available = window.after().split_once("used").and_then(|(_, rest)| {
        let (_, capacity) = rest.get(..rest.len().min(60))?.split_once("of")?;
        printed_at(capacity, 0, true).and_then(|(printed, _)| amount(printed))
    });
    message.short_by = window.letter_amount_after("capacityby");
    Parsed::found(message, window.end_of(&["memoryspacehbm", "used", "capacityby"]))
}

/// "Attempting to allocate 3.91G. That was not possible. There are 2.10G free."
pub(super) fn xla_attempt(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Jax, FailedRequest::Allocation);
    message.tried = window.letter_amount_after("attemptingtoallocate");
    message.free = window.letter_amount_after("thereare");
    if message.tried.is_none() {
        return Parsed::Nothing;
    }
    Parsed::found(message, window.end_of(&["attemptingtoallocate", "thereare"]))
}

/// "OOM when allocating tensor with shape[4,1024,256000] and type float": the size follows from the
/// shape.
pub(super) fn tensorflow_shape(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::TensorFlow, FailedRequest::Allocation);
    let described = window.after().split_once("shape[").and_then(|(_, rest)| rest.split_once(']'));
    if let Some((shape, rest)) = described {
        let count = shape.split(',').try_fold(1_u64, |count, size| {
            size.trim().parse().ok().and_then(|size: u64| count.checked_mul(size))
        });
        let bytes = rest.strip_prefix("andtype").and_then(bytes_of_type);
        message.tried = count
            .zip(bytes)
            .and_then(|(count, bytes)| count.checked_mul(bytes))
            .map(PrintedAmount::of_bytes);
    }
    Parsed::found(message, window.end_of(&["tensorwithshape["]))
}

/// Bytes of an element by TensorFlow's name of its type.
fn bytes_of_type(text: &str) -> Option<u64> {
    let sizes = [
        ("float", 4),
        ("half", 2),
        ("bfloat16", 2),
        ("double", 8),
        ("int64", 8),
        ("int32", 4),
        ("int8", 1),
        ("bool", 1),
        ("uint8", 1),
    ];
    sizes.into_iter().find(|(name, _)| text.starts_with(name)).map(|(_, bytes)| bytes)
}

/// "failed to allocate 32.00M (33554432 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY", known by
/// "failed to allocate".
pub(super) fn tensorflow_driver(window: &Window<'_>) -> Parsed {
    let near = window.after().get(..window.after().len().min(120)).unwrap_or_default();
    let Some((head, _)) = near.split_once("fromdevice:cuda_error_out_of_memory") else {
        return Parsed::Nothing;
    };
    let mut message = OomMessage::of(ReportingProgram::TensorFlow, FailedRequest::Allocation);
    message.device.platform = Some("CUDA");
    let exact = head
        .split_once('(')
        .and_then(|(_, bytes)| printed_at(bytes, 0, false))
        .and_then(|(printed, _)| amount(printed));
    message.tried = exact.or_else(|| window.letter_amount_after("failedtoallocate"));
    Parsed::found(
        message,
        window.end_of(&["cuda_error_out_of_memory:outofmemory", "cuda_error_out_of_memory"]),
    )
}

/// "NCCL WARN Failed to CUDA calloc async 608 bytes".
pub(super) fn nccl(window: &Window<'_>) -> Parsed {
    let calls = [
        "failedtocudacallocasync",
        "failedtocudacalloc",
        "failedtocudahostalloc",
        "failedtocudamalloc",
    ];
    let Some(call) = calls.into_iter().find(|call| window.after().starts_with(call)) else {
        return Parsed::Nothing;
    };
    let mut message = OomMessage::of(
        ReportingProgram::Nccl,
        if call.contains("host") { FailedRequest::HostMemory } else { FailedRequest::Allocation },
    );
    message.device.platform = Some("CUDA");
    message.tried = window.amount_after(call);
    Parsed::found(message, window.end_of(&[call]))
}

/// "`CUBLAS_STATUS_ALLOC_FAILED` when calling `cublasCreate(handle)`": no memory is left for the
/// library's workspace. cuDNN and cuFFT have words of their own for it.
pub(super) fn library(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Cuda, FailedRequest::Allocation);
    message.device.platform = Some("CUDA");
    Parsed::found(message, window.end_of(&["alloc_failed"]))
}

/// "FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::469762048 (448)MB" of Habana's
/// bridge to PyTorch.
pub(super) fn habana(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::Allocation);
    message.device.platform = Some("HPU");
    message.tried = window.number_after("allocationfailedforsize::").map(PrintedAmount::of_bytes);
    Parsed::found(message, window.end_of(&["allocationfailedforsize::"]))
}
