//! `musicflamingo` (transformers 5.23, `models/musicflamingo`): Whisper's encoder for sound, and
//! two matrices into the width of the text.

use crate::models::tower_prelude::*;

/// `musicflamingo`.
pub const TOWER: TowerSpec = TowerSpec {
    whole: &["musicflamingo"],
    not_looked_at: &["num_attention_heads", "head_dim"],
    modules: &TowerModules { model_type: "musicflamingo", ..*super::audioflamingo3::TOWER.modules },
    ties: &[("musicflamingo", Ties::Never)],
    ..super::audioflamingo3::TOWER
};
