//! Vision towers, one file each: the modules that `transformers` 5.23 builds for a file's vision
//! part.
//!
//! Facts are taken from its configuration classes (defaults) and modules (layers, biases).

use super::tower::TowerSpec;

members::of_folder!("src/models/towers", TOWER: TowerSpec);
