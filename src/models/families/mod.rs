//! The families, one file each: what `transformers` 5.23 builds for that `model_type`.
//!
//! Facts are taken from its configuration classes (defaults) and modules (biases, norms, shapes of
//! the weights). A family that is like another one says so and states what differs.

use super::spec::FamilySpec;

members::of_folder!("src/models/families", FAMILY: FamilySpec);
