//! Embedding and head that learn beside adapters (`modules_to_save`; peft 0.21, `utils/other.py::ModulesToSaveWrapper`): a copy of the
//! layer learns and runs, and the original stays where it is.

use super::super::Build;
use crate::ops::tape::Param;

/// Declares the frozen original of a layer whose copy learns.
pub(super) fn original(build: &Build<'_>, declare: impl FnOnce(&'static str) -> Param) {
    let before = build.tape.freeze(true);
    declare("original of a layer that learns");
    build.tape.freeze(before);
}
