//! The parameters of a state. Blocks with one are served; a job that trains them cannot be made.

use super::Build;
use crate::config::Mixer;
use crate::ops::mixer::{self, Sizes, Weight};

/// Declares what leads into the state, the state's own, and what leads out of it.
pub(super) fn declare(build: &Build<'_>, mixer: &Mixer) {
    let sizes = Sizes::of(build.with, mixer);
    let parts: [(&'static str, Vec<Weight>); 3] = [
        ("Projection into the state", sizes.projections(mixer.kind)),
        ("State", sizes.own(mixer.kind)),
        ("Projection out of the state", vec![sizes.output()]),
    ];
    for (name, weights) in parts {
        build.tape.at(name, mixer::source(mixer.kind));
        for (name, [columns, input]) in weights {
            if input.0.is_empty() {
                build.vector(name, columns);
            } else {
                build.parameter(name, [columns, input]);
            }
        }
    }
}
