//! Projectors, one file each: the layers that `transformers` 5.23 puts between a vision tower and
//! the text.

use super::tower::TowerSpec;

members::of_folder!("src/models/projectors", PROJECTOR: TowerSpec);
