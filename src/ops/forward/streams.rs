//! What several residual streams take beside both halves of a block.

use super::Forward;
use crate::config::AltUp;
use crate::ops::tensor::{Dim, Split};
use crate::sources;

/// The streams that a half begins with and those that it makes, and the inputs of all layers, which live through the whole step.
pub(super) fn beside(on: &Forward<'_, '_>, altup: &AltUp) {
    let with = on.with;
    on.at("Streams", sources::ARITHMETIC);
    let streams = [Dim("altup_num_inputs", altup.num_inputs), with.s(), with.b(), with.h()];
    for name in ["streams", "streams of the half"] {
        on.takes(name, streams, Split::Replicated, with.activation);
    }
    let layers = Dim("num_hidden_layers", with.model.num_hidden_layers);
    let width = Dim("hidden_size_per_layer_input", altup.hidden_size_per_layer_input);
    on.takes("inputs of all layers", [with.s(), with.b(), layers, width], Split::Replicated, with.activation);
}
