//! Reads the text of `PYTORCH_CUDA_ALLOC_CONF`, or `PYTORCH_ALLOC_CONF`.
//!
//! Source: PyTorch 2.15, AllocatorConfig.cpp and CUDAAllocatorConfig.cpp, `parseArgs` and
//! `ConfigTokenizer`.

use std::fmt;
use std::str::FromStr;

use super::rules::{MIB, OWN_SEGMENT};
use super::settings::{Settings, SizeClasses};

/// Keys that PyTorch knows and that change nothing here: pinned memory of the host, locks, and CUDA
/// graphs.
const WITHOUT_EFFECT: [&str; 9] = [
    "graph_capture_record_stream_reuse",
    "pinned_free_catch_all",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
];

/// Why a text is not a setting of the allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfError {
    /// PyTorch knows no such key.
    UnknownKey {
        /// The key.
        key: String,
    },
    /// A key that changes the memory of the device in a way that is not modelled.
    NotModelled {
        /// The key, and its value.
        setting: String,
    },
    /// A value that PyTorch would refuse.
    BadValue {
        /// The key.
        key: String,
        /// The value, as it was read.
        value: String,
        /// The values that are possible.
        expected: String,
    },
}

impl fmt::Display for ConfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key } => write!(f, "PyTorch's allocator has no setting {key}"),
            Self::NotModelled { setting } => write!(f, "{setting} is not modelled"),
            Self::BadValue { key, value, expected } => {
                write!(f, "{key} is {expected}, not {value:?}")
            }
        }
    }
}

impl std::error::Error for ConfError {}

impl FromStr for Settings {
    type Err = ConfError;

    fn from_str(text: &str) -> Result<Self, ConfError> {
        Self::from_conf(text)
    }
}

impl Settings {
    /// Reads the text of the environment variable `PYTORCH_CUDA_ALLOC_CONF` and returns the
    /// allocator's settings, sizes in bytes.
    ///
    /// Spaces do not matter; a key that stands twice takes the later value; keys for pinned host
    /// memory, locks and CUDA graphs are accepted and change nothing.
    ///
    /// # Errors
    /// [`ConfError`] names the key: unknown, with a value that PyTorch refuses, or not modelled
    /// (`cudaMallocAsync`, which is another allocator, and the address space of expandable
    /// segments).
    ///
    /// # Example
    /// ```
    /// use headroom::hardware::allocator::Settings;
    ///
    /// let settings = Settings::from_conf("expandable_segments:True, max_split_size_mb:128")?;
    /// assert!(settings.expandable_segments);
    /// assert_eq!(settings.max_split_size, Some(128 << 20));
    /// assert_eq!(
    ///     Settings::from_conf("max_split_mb:128").unwrap_err().to_string(),
    ///     "PyTorch's allocator has no setting max_split_mb"
    /// );
    /// # Ok::<(), headroom::hardware::allocator::ConfError>(())
    /// ```
    pub fn from_conf(text: &str) -> Result<Self, ConfError> {
        let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        let mut settings = Self::default();
        let pairs = split(&text);
        // The size of segments comes first, because it bounds two other values.
        let (first, rest): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|pair| pair.key == "large_segment_size_mb");
        for pair in first.into_iter().chain(rest) {
            settings.apply(&pair)?;
        }
        Ok(settings)
    }

    fn apply(&mut self, pair: &Pair<'_>) -> Result<(), ConfError> {
        let segment = self.large_segment / MIB;
        match pair.key {
            "expandable_segments" => self.expandable_segments = pair.yes_or_no()?,
            "max_split_size_mb" => self.max_split_size = Some(pair.mib(segment)?),
            "max_non_split_rounding_mb" => self.max_non_split_rounding = Some(pair.mib(segment)?),
            "large_segment_size_mb" => {
                self.large_segment = pair.mib((OWN_SEGMENT / MIB).saturating_add(1))?;
            }
            "roundup_power2_divisions" => self.roundup_power2_divisions = pair.size_classes()?,
            "garbage_collection_threshold" => {
                let inside = |share: &f64| *share > 0.0 && *share < 1.0;
                self.garbage_collection_threshold =
                    Some(pair.number(inside, "a number between 0 and 1, without them")?);
            }
            "per_process_memory_fraction" => {
                let inside = |share: &f64| (0.0..=1.0).contains(share);
                self.per_process_memory_fraction =
                    Some(pair.number(inside, "a number from 0 to 1")?);
            }
            "throw_on_cudamalloc_oom" => self.reject_early = pair.yes_or_no()?,
            "backend" if pair.value == "native" => {}
            "backend" | "expandable_segments_reserve" | "expandable_segments_reserve_by_class" => {
                return Err(ConfError::NotModelled {
                    setting: format!("{}:{}", pair.key, pair.value),
                });
            }
            key if WITHOUT_EFFECT.contains(&key) => {}
            key => return Err(ConfError::UnknownKey { key: key.to_owned() }),
        }
        Ok(())
    }
}

/// One setting: `key:value`.
struct Pair<'a> {
    key: &'a str,
    value: &'a str,
}

/// The settings of a text without spaces. Commas inside brackets do not separate.
fn split(text: &str) -> Vec<Pair<'_>> {
    let mut open = false;
    let pieces = text.split(|letter: char| {
        open = letter == '[' || (open && letter != ']');
        letter == ',' && !open
    });
    let pairs = pieces.filter(|piece| !piece.is_empty());
    pairs
        .map(|piece| {
            piece
                .split_once(':')
                .map_or(Pair { key: piece, value: "" }, |(key, value)| Pair { key, value })
        })
        .collect()
}

impl Pair<'_> {
    fn refuse(&self, expected: impl Into<String>) -> ConfError {
        ConfError::BadValue {
            key: self.key.to_owned(),
            value: self.value.to_owned(),
            expected: expected.into(),
        }
    }

    fn yes_or_no(&self) -> Result<bool, ConfError> {
        match self.value {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.refuse("True or False")),
        }
    }

    /// A number of MiB, at least `least`, in bytes.
    fn mib(&self, least: u64) -> Result<u64, ConfError> {
        let mib = self.value.parse::<u64>().ok().filter(|mib| *mib >= least);
        mib.map(|mib| mib.saturating_mul(MIB))
            .ok_or_else(|| self.refuse(format!("a whole number of at least {least}")))
    }

    fn number(&self, possible: impl Fn(&f64) -> bool, expected: &str) -> Result<f64, ConfError> {
        self.value.parse().ok().filter(possible).ok_or_else(|| self.refuse(expected))
    }

    /// Divisions of powers of two: one number for all sizes, or a list such as `[256:1,512:2,>:4]`
    /// of sizes in MiB. The first number of a list also holds for smaller sizes; sizes between two
    /// that are listed are not divided; `>` means all above the last. Source:
    /// `parseRoundUpPower2Divisions`.
    fn size_classes(&self) -> Result<SizeClasses, ConfError> {
        let expected = "a power of two, or a list such as [256:1,512:2,>:4] of powers of two";
        let refuse = || self.refuse(expected);
        let power = |text: &str| text.parse::<u64>().ok().filter(|number| number.is_power_of_two());
        let Some(list) = self.value.strip_prefix('[') else {
            return power(self.value).map(SizeClasses::all).ok_or_else(refuse);
        };
        let list = list.strip_suffix(']').ok_or_else(refuse)?;
        let mut classes = SizeClasses::default();
        let mut last = None;
        for entry in list.split(',').filter(|entry| !entry.is_empty()) {
            let (size, divisions) = entry.split_once(':').ok_or_else(refuse)?;
            let divisions =
                if divisions == "0" { 0 } else { power(divisions).ok_or_else(refuse)? };
            if size == ">" {
                classes.set_from(last.unwrap_or(0_usize).saturating_add(1), divisions);
                continue;
            }
            let class = SizeClasses::class(power(size).ok_or_else(refuse)?);
            if last.is_none() {
                classes.set_below(class, divisions);
            }
            classes.set(class, divisions);
            last = Some(class);
        }
        Ok(classes)
    }
}
