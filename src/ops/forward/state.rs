//! Working tensors of a layer's state of fixed size: the columns that lead into it, and its output.

use super::Forward;
use crate::config::Mixer;
use crate::ops::mixer::{self, Sizes};
use crate::ops::tensor::{Dim, Split};

/// Runs a state.
pub(super) fn run(on: &Forward<'_, '_>, mixer: &Mixer) {
    let (with, source) = (on.with, mixer::source(mixer.kind));
    on.at("Projection into the state", source);
    let projections = Sizes::of(with, mixer).projections(mixer.kind);
    let columns = projections.iter().map(|(_, [columns, _])| columns.1).fold(0, u64::saturating_add);
    let made = [with.s(), with.b(), Dim("columns into the state", columns)];
    on.takes("made for the state", made, Split::Tensor, with.activation);
    on.at("State", source);
    on.at("Projection out of the state", source);
    on.takes("projected output", on.hidden(), Split::Replicated, with.activation);
}
