//! The settings of the allocator, as `PYTORCH_CUDA_ALLOC_CONF` can set them.

use super::rules::{LARGE_SEGMENT, MIB};

/// Number of size classes that `roundup_power2_divisions` can treat differently: 1 MiB to 2 MiB, 2
/// MiB to 4 MiB, and so on; the last also takes everything above. Source: PyTorch 2.15,
/// AllocatorConfig.cpp, `kRoundUpPowerOfTwoIntervals`.
const CLASSES: usize = 16;

/// How the allocator behaves: the contents of `PYTORCH_CUDA_ALLOC_CONF`, and
/// `set_per_process_memory_fraction`.
///
/// Source: PyTorch 2.15, AllocatorConfig.h and CUDAAllocatorConfig.h. [`Settings::default`] is
/// PyTorch's default;
/// [`Settings::from_conf`] reads the text of the environment variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// One growing segment per pool and stream, mapped page by page, instead of separate segments.
    pub expandable_segments: bool,
    /// Blocks of this many bytes or more are never split. `None`: every block may be split.
    pub max_split_size: Option<u64>,
    /// A request that may not split a block takes one that is larger by less than this many bytes.
    /// `None`: by less than
    /// [`Settings::large_segment`].
    pub max_non_split_rounding: Option<u64>,
    /// Bytes of a segment that requests of 1 to 10 MiB share, and of a page of an expandable
    /// segment for large blocks.
    pub large_segment: u64,
    /// Into how many steps each power of two is divided when sizes are rounded up.
    pub roundup_power2_divisions: SizeClasses,
    /// Share of the allowed memory above which old cached segments are given back. It does nothing
    /// unless
    /// [`Settings::per_process_memory_fraction`] is set.
    pub garbage_collection_threshold: Option<f64>,
    /// Share of the device's total memory that this process may reserve. `None`: all of it. 1.0
    /// means the same as `None`.
    pub per_process_memory_fraction: Option<f64>,
    /// Refuse a request at once, without giving cached memory back, if it would take more than the
    /// whole device (`throw_on_cudamalloc_oom`).
    pub reject_early: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            expandable_segments: false,
            max_split_size: None,
            max_non_split_rounding: None,
            large_segment: LARGE_SEGMENT,
            roundup_power2_divisions: SizeClasses::default(),
            garbage_collection_threshold: None,
            per_process_memory_fraction: None,
            reject_early: false,
        }
    }
}

impl Settings {
    /// Returns the bytes of the block that a tensor of so many bytes is given, if the block that
    /// serves it is split: a multiple of 512, or a step between powers of two where the settings
    /// divide them.
    ///
    /// ```
    /// # use headroom::hardware::allocator::Settings;
    /// assert_eq!(Settings::default().block_size(1_300), 1_536);
    /// ```
    #[must_use]
    pub fn block_size(&self, bytes: u64) -> u64 {
        super::rules::block_size(self, bytes)
    }

    /// Returns PyTorch's defaults with growing segments: `expandable_segments:True`.
    pub fn expandable() -> Self {
        Self { expandable_segments: true, ..Self::default() }
    }

    /// Bytes from which a block is never split; the largest number where every block may be.
    pub(super) fn unsplit_from(&self) -> u64 {
        self.max_split_size.unwrap_or(u64::MAX)
    }

    /// Bytes by which a block that may not be split has to stay below the request plus this.
    pub(super) fn slack_of_unsplit(&self) -> u64 {
        self.max_non_split_rounding.unwrap_or(self.large_segment)
    }
}

/// A number of divisions for each of 16 size classes. The first class holds every size below 2 MiB,
/// the second 2 to 4 MiB, the last 32 GiB and more. 0 or 1: sizes of this class are rounded to 512
/// bytes.
///
/// Source: PyTorch 2.15, AllocatorConfig.cpp, `roundup_power2_divisions`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SizeClasses([u64; CLASSES]);

impl SizeClasses {
    /// Returns one number of divisions for sizes of every class: the form
    /// `roundup_power2_divisions:4`.
    pub fn all(divisions: u64) -> Self {
        Self([divisions; CLASSES])
    }

    /// Returns the number of divisions for a size in bytes.
    pub fn of(&self, bytes: u64) -> u64 {
        self.0.get(Self::class(bytes / MIB)).copied().unwrap_or(0)
    }

    /// The class of a size in whole MiB.
    pub(super) fn class(mib: u64) -> usize {
        let power = mib.checked_ilog2().unwrap_or(0);
        usize::try_from(power).unwrap_or(CLASSES).min(CLASSES.saturating_sub(1))
    }

    /// Sets one class.
    pub(super) fn set(&mut self, class: usize, divisions: u64) {
        if let Some(entry) = self.0.get_mut(class) {
            *entry = divisions;
        }
    }

    /// Sets every class from `first` on.
    pub(super) fn set_from(&mut self, first: usize, divisions: u64) {
        self.0.iter_mut().skip(first).for_each(|entry| *entry = divisions);
    }

    /// Sets every class below `end`.
    pub(super) fn set_below(&mut self, end: usize, divisions: u64) {
        self.0.iter_mut().take(end).for_each(|entry| *entry = divisions);
    }
}
