//! How llama.cpp's GGUF files write a kind of model.

use super::FamilySpec;
use super::families::MEMBERS;

/// The keys of a GGUF file of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gguf {
    /// The kind that this is about: a family that is like another one takes over its description,
    /// and not this.
    kind: &'static str,
    /// The word under `general.architecture`.
    architecture: &'static str,
    /// True for the kind with experts, of two that share an architecture.
    has_experts: bool,
    /// Keys beside the usual ones, without the architecture in front, and those of `config.json`;
    /// the name of a tensor for a key that says whether there is one.
    pub keys: &'static [(&'static str, &'static str)],
}

impl Gguf {
    /// A kind without experts and without further keys.
    pub const fn of(kind: &'static str, architecture: &'static str) -> Self {
        Self { kind, architecture, has_experts: false, keys: &[] }
    }

    /// A kind with further keys.
    pub const fn with(
        kind: &'static str,
        architecture: &'static str,
        keys: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { kind, architecture, has_experts: false, keys }
    }

    /// A kind with experts.
    pub const fn of_experts(
        kind: &'static str,
        architecture: &'static str,
        keys: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self { kind, architecture, has_experts: true, keys }
    }
}

/// The name of the kind that a GGUF file of that architecture is of, and how it is written there.
pub(crate) fn of_gguf(architecture: &str, has_experts: bool) -> Option<(&'static str, Gguf)> {
    let own = |spec: &FamilySpec| {
        let name = *spec.names.first()?;
        let gguf =
            spec.gguf.filter(|gguf| gguf.kind == name && gguf.architecture == architecture)?;
        (gguf.has_experts == has_experts).then_some((name, gguf))
    };
    MEMBERS.into_iter().find_map(own)
}
