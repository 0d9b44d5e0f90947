//! No engine: the cache is as large as its sequences, in whatever program.

use super::{
    CacheMemory, DraftMethod, EngineSpec, FP8_CACHE, OnHost, SMALLER_TENSORS, Speculation, Steps,
};
use crate::sources;

pub(super) const ENGINE: EngineSpec = EngineSpec {
    key: "none",
    label: "No engine",
    help: "The cache takes what the sequences need.",
    place: 0,
    by_its_rule: "by no engine's rule",
    cache: CacheMemory::AllThatIsLeft,
    keeps_own_reserve: false,
    share: None,
    block_size: 1,
    loads: |_| true,
    steps: Steps::NONE,
    earlier: &[],
    smaller_cache: FP8_CACHE,
    host: OnHost::Nothing,
    adapter_slots: None,
    speculation: Speculation {
        methods: &[DraftMethod::Model, DraftMethod::Mtp, DraftMethod::Eagle, DraftMethod::Eagle3],
        vocabularies_differ_by: Some(0),
        reads_checked: true,
        in_stages: true,
        source: sources::SPECULATIVE_2022,
    },
    smaller_weights: SMALLER_TENSORS,
};
