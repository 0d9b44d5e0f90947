//! The driver as the allocator sees it: addresses, and memory until there is no more.

use super::rules::{PAGE, round_up};

/// The memory of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// Bytes that the driver reports as the total (`torch.cuda.mem_get_info()[1]`).
    pub total: u64,
    /// Bytes that something else holds: the CUDA context, libraries, communicators, other
    /// processes.
    pub outside: u64,
}

impl Device {
    /// A device that never runs out: for the question how much a step would reserve.
    pub const ENDLESS: Self = Self { total: u64::MAX, outside: 0 };

    /// Returns a device on which the allocator can have `bytes`.
    pub fn of(bytes: u64) -> Self {
        Self { total: bytes, outside: 0 }
    }

    /// Returns the bytes that the allocator can have at most; `None` on an endless device.
    pub fn limit(self) -> Option<u64> {
        (self.total != u64::MAX).then(|| self.total.saturating_sub(self.outside))
    }
}

/// Something that the driver did, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverCall {
    /// The driver gave a segment, or pages of an expandable segment, of so many bytes.
    Gave(u64),
    /// The driver got so many bytes back.
    TookBack(u64),
}

/// Hands out addresses and counts memory.
#[derive(Clone, Debug)]
pub(super) struct Driver {
    /// The device.
    pub device: Device,
    /// Bytes that the allocator holds; PyTorch calls them reserved.
    pub held: u64,
    /// The most that it held.
    pub peak: u64,
    /// Bytes that those take on the device, in whole pages of the driver.
    charged: u64,
    /// Everything that was given and taken back.
    pub calls: Vec<DriverCall>,
    /// Where the next addresses begin. They are never given twice, so that of two segments the
    /// younger lies higher.
    next: u64,
}

impl Driver {
    /// A device with nothing on it.
    pub fn new(device: Device) -> Self {
        Self { device, held: 0, peak: 0, charged: 0, calls: Vec::new(), next: 0 }
    }

    /// Bytes that are free on the device.
    pub fn free(&self) -> u64 {
        self.device.total.saturating_sub(self.device.outside).saturating_sub(self.charged)
    }

    /// A segment of `bytes`: its address, or nothing if the device is full (`cudaMalloc`).
    pub fn allocate(&mut self, bytes: u64) -> Option<u64> {
        self.map(bytes).then(|| self.reserve_addresses(bytes))
    }

    /// Puts memory behind `bytes` of addresses (`cuMemCreate`, `cuMemMap`). False: the device is
    /// full, nothing was mapped.
    pub fn map(&mut self, bytes: u64) -> bool {
        let charge = round_up(bytes, PAGE);
        if self.device.limit().is_some_and(|limit| self.charged.saturating_add(charge) > limit) {
            return false;
        }
        self.charged = self.charged.saturating_add(charge);
        self.held = self.held.saturating_add(bytes);
        self.peak = self.peak.max(self.held);
        self.calls.push(DriverCall::Gave(bytes));
        true
    }

    /// Takes the memory behind `bytes` of addresses back (`cudaFree`, `cuMemUnmap`).
    pub fn unmap(&mut self, bytes: u64) {
        self.charged = self.charged.saturating_sub(round_up(bytes, PAGE));
        self.held = self.held.saturating_sub(bytes);
        self.calls.push(DriverCall::TookBack(bytes));
    }

    /// Addresses without memory (`cuMemAddressReserve`).
    pub fn reserve_addresses(&mut self, bytes: u64) -> u64 {
        let at = self.next;
        self.next = at.saturating_add(round_up(bytes, PAGE));
        at
    }
}
