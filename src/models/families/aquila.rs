//! Llama's layers in code of their own on the hub, each under its own name: `aquila`
//! (`BAAI/AquilaChat-7B`), `xverse` (`xverse/XVERSE-13B`), `skywork` (`Skywork/Skywork-13B-base`),
//! `Yi` (`01-ai/Yi-34B` at first) and `solar` (`upstage/solar-pro-preview-instruct`, whose further
//! sums over layers have no weights).

use crate::models::prelude::*;

/// `aquila` and others.
pub const FAMILY: FamilySpec = FamilySpec {
    names: &["aquila", "xverse", "skywork", "Yi", "solar"],
    class: "Aquila",
    labels: &[],
    modules: &Modules::GENERIC,
    gguf: None,
    ..super::llama::FAMILY
};
