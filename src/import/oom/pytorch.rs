//! PyTorch's messages, of all versions and devices.
//!
//! Sources: c10/cuda/CUDACachingAllocator.cpp (1.0 to 2.15; HIP's is the same file, translated),
//! CUDAMallocAsyncAllocator.cpp, c10/xpu/XPUCachingAllocator.cpp, c10/core/impl/alloc_cpu.cpp,
//! aten/src/ATen/mps/MPSAllocator.mm, torch_npu's NPUCachingAllocator.cpp.

use super::amount::{Print, PrintedAmount};
use super::message::{FailedRequest, OomMessage, Process, ReportingProgram};
use super::scan::{Window, amount_until, number_at, number_until};
use super::{Found, Parsed, UnreadMessage};

/// Platforms by the word before "out of memory".
const PLATFORMS: [(&str, &str); 14] = [
    ("cuda", "CUDA"),
    ("hip", "HIP"),
    ("xpu", "XPU"),
    ("dpcpp", "XPU"),
    ("npu", "NPU"),
    ("musa", "MUSA"),
    ("mlu", "MLU"),
    ("gcu", "GCU"),
    ("hpu", "HPU"),
    ("maca", "MACA"),
    ("mtia", "MTIA"),
    ("privateuseone", "PrivateUse1"),
    ("mps", "MPS"),
    ("mpsbackend", "MPS"),
];

/// The platform that a text ends with.
pub(super) fn platform(text: &str) -> Option<&'static str> {
    PLATFORMS.iter().find(|(word, _)| text.ends_with(word)).map(|(_, name)| *name)
}

/// "CUDA out of memory. Tried to allocate …", known by "tried to allocate".
pub(super) fn tried(window: &Window<'_>) -> Parsed {
    let before = window.before(60);
    let named = before.strip_suffix("outofmemory.");
    // Other programs try to allocate, too, but state bytes: TensorFlow's "tried to allocate 0
    // bytes".
    let states_bytes =
        window.amount_after("triedtoallocate").is_some_and(|tried| tried.exact().is_some());
    if named.is_none() && states_bytes && !before.ends_with("outofmemoryerror:") {
        return Parsed::Nothing;
    }
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::Allocation);
    message.device.platform = named.and_then(platform);
    if window.after().starts_with("triedtoallocatemorethan1eb") {
        message.tried = Some(PrintedAmount::more_than_an_exbibyte());
        return Parsed::found(message, window.end_of(&["morethan1eb"]));
    }
    match window.printed_after("triedtoallocate") {
        Some(Print::Amount(amount)) => message.tried = Some(amount),
        Some(Print::TooLarge) => return Parsed::Refused(UnreadMessage::TooLarge),
        None => return Parsed::Nothing,
    }
    since_2_1(window, &mut message);
    until_2_0(window, &mut message);
    message.allowed = window.amount_before("allowed;");
    Parsed::found(message, window.end_of(&ENDS))
}

/// "GPU 0 has a total capacity of …" where the text begins behind the amount that was tried.
pub(super) fn without_tried(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::Allocation);
    since_2_1(window, &mut message);
    message.device.index = number_until(window.before(20)).and_then(narrow);
    message.allowed = window.amount_before("allowed;");
    if message.total.is_none() || window.before(120).contains("triedtoallocate") {
        return Parsed::Nothing;
    }
    Parsed::found(message, window.end_of(&ENDS))
}

/// Phrases behind which an allocator's message states nothing more.
const ENDS: [&str; 10] = [
    "triedtoallocate",
    "totalcapacity",
    "isfree",
    "memoryinuse",
    "allowed;",
    "isallocatedbypytorch",
    "isreservedbypytorchbutunallocated",
    "reservedintotalbypytorch",
    "cached)",
    "totalcapacity;",
];

/// "GPU 0 has a total capacity of 79.65 GiB of which 19.00 MiB is free. …" (2.1 to 2.2 print
/// "capacty").
fn since_2_1(window: &Window<'_>, message: &mut OomMessage) {
    let after = window.after();
    message.device.index = after
        .find("hasatotalcapac")
        .and_then(|end| after.get(..end))
        .and_then(number_until)
        .and_then(narrow);
    message.total =
        window.amount_after("totalcapacityof").or_else(|| window.amount_after("totalcapactyof"));
    message.free = window.amount_after("ofwhich").or_else(|| window.amount_before("isfree"));
    message.in_use = window.amount_after("thisprocesshas");
    message.processes = processes(after);
    message.allocated = window.amount_before("isallocatedbypytorch");
    message.private_pools = window.amount_before("allocatedinprivatepools");
    message.unallocated = window.amount_before("isreservedbypytorchbutunallocated");
}

/// "(GPU 0; 7.93 GiB total capacity; 6.44 GiB already allocated; …)"; 1.0 to 1.3 print what is
/// unallocated as "cached".
fn until_2_0(window: &Window<'_>, message: &mut OomMessage) {
    let after = window.after();
    let index =
        || after.split_once(';').and_then(|(start, _)| number_until(start)).and_then(narrow);
    if let Some(total) = window.amount_before("totalcapacity;") {
        message.total = Some(total);
        message.device.index = index();
    }
    message.free = message.free.or_else(|| window.amount_before("free;"));
    message.allocated = message.allocated.or_else(|| window.amount_before("alreadyallocated"));
    message.reserved = window.amount_before("reservedintotalbypytorch");
    let cached = || window.amount_before("cached)").or_else(|| window.amount_before("cached;"));
    message.unallocated = message.unallocated.or_else(cached);
}

fn narrow(number: u64) -> Option<u32> {
    u32::try_from(number).ok()
}

/// "Process 12345 has 14.26 GiB memory in use", each of them.
fn processes(text: &str) -> Vec<Process> {
    let process = |part: &str| {
        let pid = number_at(part)?;
        let (head, _) = part.split_once("memoryinuse")?;
        let (_, amount) = head.split_once("has")?;
        let in_use = amount_until(amount)
            .filter(|_| head.starts_with(|letter: char| letter.is_ascii_digit()))?;
        Some(Process { pid, in_use })
    };
    text.split("process").skip(1).filter_map(process).collect()
}

/// "Allocation on device 0 would exceed allowed memory. (out of memory) …" of the backend
/// `cudaMallocAsync`.
pub(super) fn malloc_async(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::Allocation);
    message.device.platform = Some("CUDA");
    message.device.index = number_until(window.before(40)).and_then(narrow);
    message.allocated = window.amount_after("currentlyallocated:");
    message.tried = window.amount_after("requested:");
    message.total = window.amount_after("devicelimit:");
    message.free = window.amount_after("free(accordingtocuda):");
    // 17179869184.00 GiB is 2⁶⁴ bytes and means that no limit is set: it is too large to be read.
    message.allowed = window.amount_after("pytorchlimit(setbyuser-suppliedmemoryfraction):");
    let ends = [
        "(outofmemory)",
        "currentlyallocated:",
        "requested:",
        "devicelimit:",
        "free(accordingtocuda):",
        "memoryfraction):",
    ];
    Parsed::found(message, window.end_of(&ends))
}

/// "MPS backend out of memory (MPS allocated: …, other allocations: …, max allowed: …). Tried to
/// allocate …".
pub(super) fn mps(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::Allocation);
    message.device.platform = Some("MPS");
    message.allocated = window.amount_after("mpsallocated:");
    message.other_allocations = window.amount_after("otherallocations:");
    message.allowed = window.amount_after("maxallowed:");
    message.tried = window.amount_after("triedtoallocate");
    Parsed::found(
        message,
        window.end_of(&[
            "outofmemory",
            "mpsallocated:",
            "otherallocations:",
            "maxallowed:",
            "triedtoallocate",
        ]),
    )
}

/// "DefaultCPUAllocator: can't allocate memory: you tried to allocate 15600421632 bytes."
pub(super) fn host(window: &Window<'_>) -> Parsed {
    let before = window.before(80);
    if !before.contains("allocator") && !before.contains("notenoughmemory") {
        return Parsed::Nothing;
    }
    let tried = match window.printed_after("youtriedtoallocate") {
        Some(Print::Amount(amount)) => amount,
        Some(Print::TooLarge) => return Parsed::Refused(UnreadMessage::TooLarge),
        None => return Parsed::Nothing,
    };
    let mut message = OomMessage::of(ReportingProgram::PyTorch, FailedRequest::HostMemory);
    // TH's message of 0.1 to 0.4 divides whole numbers: "you tried to allocate 72GB. Buy new RAM!".
    message.tried = Some(if tried.exact().is_some() { tried } else { tried.cut_off() });
    Parsed::found(message, window.end_of(&["youtriedtoallocate"]))
}

/// An error by the name that an interface gives it: `CUDA_ERROR_OUT_OF_MEMORY`,
/// `UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY`. "Search for `cudaErrorMemoryAllocation'" is a hint of
/// PyTorch's behind its own words.
pub(super) fn named_error(window: &Window<'_>) -> Parsed {
    if window.before(10).contains("searchfor") {
        return Parsed::Nothing;
    }
    let is_cuda = window.after().starts_with("cuda");
    let mut message = OomMessage::of(
        if is_cuda { ReportingProgram::Cuda } else { ReportingProgram::PyTorch },
        FailedRequest::Allocation,
    );
    message.device.platform = Some(if is_cuda { "CUDA" } else { "XPU" });
    Parsed::found(message, window.at + 1)
}

/// The words "out of memory" alone, told apart by the words around them.
pub(super) fn bare(window: &Window<'_>) -> Parsed {
    let after = window.after().strip_prefix("outofmemory").unwrap_or_default();
    let before = window.before(60);
    let is_read_elsewhere = ["error", ".triedtoallocate", "occurredwhenwarmingup"]
        .iter()
        .any(|word| after.starts_with(word));
    if is_read_elsewhere {
        return Parsed::Nothing;
    }
    let found = |program, platform| {
        let mut message = OomMessage::of(program, FailedRequest::Allocation);
        message.device.platform = platform;
        Parsed::Found(Found { message: Box::new(message), end: window.at + 1 })
    };
    let near = after.get(..after.len().min(400)).unwrap_or_default();
    if before.ends_with("error") && after.starts_with("atline") {
        found(ReportingProgram::Bitsandbytes, Some("CUDA"))
    } else if near.contains("cumem_allocator") {
        found(ReportingProgram::Vllm, Some("CUDA"))
    } else if before.contains("ggml-cuda") || near.contains("currentdevice:") {
        found(ReportingProgram::LlamaCpp, Some("CUDA"))
    } else if before.ends_with("cudafailure'") || before.ends_with("cudafailure2'") {
        found(ReportingProgram::Nccl, Some("CUDA"))
    } else if before.ends_with("runtimeerror:cudaerror:")
        || before.ends_with("acceleratorerror:cudaerror:")
        || near.contains("kernelerrorsmight")
    {
        let is_hip = before.ends_with("hiperror:");
        found(ReportingProgram::PyTorch, Some(if is_hip { "HIP" } else { "CUDA" }))
    } else if before.ends_with("hiperror") {
        found(ReportingProgram::Cuda, Some("HIP"))
    } else if let Some(driver) = ["error:", "err(2):", "error(2):", "error2:"]
        .iter()
        .find_map(|end| before.strip_suffix(end))
    {
        // "CUDA driver error" comes from PyTorch's expandable segments, "CUDA runtime error" from
        // any caller.
        let of_pytorch = driver.strip_suffix("driver");
        let program =
            if of_pytorch.is_some() { ReportingProgram::PyTorch } else { ReportingProgram::Cuda };
        let name = of_pytorch.or_else(|| driver.strip_suffix("runtime")).unwrap_or(driver);
        platform(name).map_or(Parsed::Nothing, |platform| found(program, Some(platform)))
    } else {
        platform(before)
            .map_or(Parsed::Nothing, |platform| found(ReportingProgram::PyTorch, Some(platform)))
    }
}
