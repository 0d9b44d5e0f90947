//! The tensors that files hold.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::safetensors::Index;
use crate::units::{Bytes, MemoryUnit, whole};

/// One stored tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTensor {
    /// Its name.
    pub name: String,
    /// Numbers in it; of packed ones the words that hold them.
    pub elements: u64,
    /// Bytes it takes in the file.
    pub bytes: u64,
    /// The format of its numbers, as the file calls it.
    pub format: &'static str,
}

/// The tensors that a model's files hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The tensors of the files that were read.
    pub tensors: Vec<StoredTensor>,
    /// Tensors that the index names and no file that was read holds.
    pub missing: usize,
    /// Bytes of all tensors, as the index says.
    pub total_size: Option<u64>,
    /// The notation of the files.
    pub notation: &'static str,
}

impl Stored {
    pub(super) fn of(
        tensors: Vec<StoredTensor>,
        index: Option<Index>,
        notation: &'static str,
    ) -> Self {
        let (names, total_size) =
            index.map_or((Vec::new(), None), |index| (index.names, index.total_size));
        let held: std::collections::BTreeSet<&str> =
            tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        let missing = names.iter().filter(|name| !held.contains(name.as_str())).count();
        Self { tensors, missing, total_size, notation }
    }

    /// Returns the bytes of the tensors that were read.
    pub fn bytes(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.bytes))
    }

    /// Returns the count of numbers in the tensors that were read; of packed tensors it counts
    /// words.
    pub fn elements(&self) -> u64 {
        self.tensors.iter().fold(0, |sum, tensor| sum.saturating_add(tensor.elements))
    }

    /// Returns true if words hold several numbers each, so that counting words counts no
    /// parameters.
    pub fn is_packed(&self) -> bool {
        self.notation == "safetensors"
            && self
                .tensors
                .iter()
                .any(|tensor| matches!(tensor.format, "I32" | "U8" | "I64" | "U32"))
    }

    /// Bytes of each format, largest first.
    fn formats(&self) -> Vec<(&'static str, usize)> {
        let mut by_format: BTreeMap<&'static str, (u64, usize)> = BTreeMap::new();
        for tensor in &self.tensors {
            let entry = by_format.entry(tensor.format).or_default();
            *entry = (entry.0.saturating_add(tensor.bytes), entry.1 + 1);
        }
        let mut formats: Vec<_> = by_format.into_iter().collect();
        formats.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
        formats.into_iter().map(|(format, (_, count))| (format, count)).collect()
    }

    /// Returns the stored tensors in one sentence.
    pub fn said(&self) -> String {
        let total = self.total_size.map(|bytes| MemoryUnit::Gb.show(Bytes(bytes)));
        if self.tensors.is_empty() {
            let takes = total.map_or_else(
                || "without their sizes".to_owned(),
                |total| format!("that take {total} together"),
            );
            return format!("The index names {} tensors {takes}.", whole(self.missing as u64));
        }
        let formats: Vec<String> = self
            .formats()
            .iter()
            .take(4)
            .map(|(format, count)| format!("{count} in {format}"))
            .collect();
        let what = if self.is_packed() { "words" } else { "numbers" };
        let mut said = format!(
            "{} tensors ({}) hold {} {what} in {}.",
            whole(self.tensors.len() as u64),
            formats.join(", "),
            whole(self.elements()),
            MemoryUnit::Gb.show(Bytes(self.bytes())),
        );
        if self.missing > 0 {
            let rest = total.map_or_else(String::new, |total| format!(", {total} in all"));
            // Writing into a String cannot fail.
            let _ = write!(
                said,
                " The index names {} more, in files that were not chosen{rest}.",
                whole(self.missing as u64)
            );
        }
        said
    }
}
