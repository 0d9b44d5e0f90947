//! Messages about host memory that come from outside the frameworks: NumPy, Ray, Slurm and the
//! Linux kernel.
//!
//! Sources: numpy/_core/_exceptions.py, ray's worker_killing_policy.cc and memory_monitor.cc,
//! slurm's task/cgroup, the kernel's mm/oom_kill.c.

use super::Parsed;
use super::message::{FailedRequest, OomMessage, ReportingProgram};
use super::scan::{Window, amount_until};

/// "Out of memory: Killed process 12345 (python) total-vm:…kB, anon-rss:…kB", known by "out of
/// memory".
pub(super) fn linux(window: &Window<'_>) -> Parsed {
    let phrases =
        ["outofmemory:killedprocess", "outofmemory:killprocess", "outofmemory:killingprocess"];
    if !phrases.iter().any(|phrase| window.after().starts_with(phrase)) {
        return Parsed::Nothing;
    }
    let mut message = OomMessage::of(ReportingProgram::Linux, FailedRequest::HostMemory);
    message.in_use = window.amount_after("anon-rss:");
    Parsed::found(message, window.end_of(&["process", "anon-rss:"]))
}

/// "slurmstepd: error: Detected 1 oom_kill event in StepId=9178265.0."
pub(super) fn slurm(window: &Window<'_>) -> Parsed {
    let message = OomMessage::of(ReportingProgram::Slurm, FailedRequest::HostMemory);
    Parsed::found(message, window.end_of(&["oom_killevent", "oom-killevent"]))
}

/// "Memory on the node … was 27.71GB / 28.80GB (0.962273), which exceeds the memory usage threshold
/// of 0.95."
pub(super) fn ray(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::Ray, FailedRequest::HostMemory);
    let before = window.before(80);
    if let Some((used, total)) = before.rsplit_once('/') {
        message.in_use = amount_until(used);
        message.total = total.split_once('(').and_then(|(total, _)| amount_until(total));
    }
    let threshold = "exceedsthememoryusagethresholdof";
    message.fraction = window.share_after(threshold);
    Parsed::found(message, window.end_of(&[threshold]))
}

/// "Unable to allocate 4.06 GiB for an array with shape (138178, 3942) and data type float64".
pub(super) fn numpy(window: &Window<'_>) -> Parsed {
    let mut message = OomMessage::of(ReportingProgram::NumPy, FailedRequest::HostMemory);
    message.tried = window.amount_after("unabletoallocate");
    let is_numpys =
        window.before(40).contains("memoryerror") || window.after().contains("foranarray");
    if message.tried.is_none() || !is_numpys {
        return Parsed::Nothing;
    }
    Parsed::found(message, window.end_of(&["unabletoallocate", "foranarray"]))
}
