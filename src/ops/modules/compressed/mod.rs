//! A block of several residual streams with attention to compressed keys (transformers 5.23,
//! `models/deepseek_v4`): both halves read one mix of the streams, and are spread over all of them.
//!
//! | symbol | field |
//! |---|---|
//! | n | `hc_mult` |
//! | w | compressed keys of a sequence |
//! | r | tokens of one of them |

mod attention;
mod chooser;
mod compressor;
mod experts;
mod streams;
mod turn;

use super::norm::Norm;
use super::{Block, Build, Tables};
use crate::ops::tape::{Tape, Var};
use crate::sources;
use attention::Attention;
use experts::Experts;
use streams::Mixing;
pub(super) use streams::Streams;

/// The operation of compressed keys.
const COMPRESSED_KEYS: &str = "Compressed keys";

/// One block.
#[derive(Debug)]
pub(super) struct InStreams {
    attention: Attention,
    experts: Experts,
    norms: [Norm; 2],
    mixing: [Mixing; 2],
}

impl InStreams {
    /// The block of that layer; `None` of a model without compressed keys.
    pub fn new(build: &Build<'_>, layer: u64) -> Option<Self> {
        let model = build.model();
        let (sizes, moe) = (model.compressed.as_ref()?, model.moe_at(layer)?);
        let kind = sizes.layer(layer);
        let attention = Attention::new(build, sizes, kind.compresses);
        let experts = Experts::new(build, moe, kind.hashed);
        let norms = ["Input norm", "Post-attention norm"].map(|name| {
            build.tape.at(name, sources::PYTORCH_AUTOGRAD);
            Norm::new(build, build.with.h(), build.shapes.rows)
        });
        let mixing = [(); 2].map(|()| Mixing::new(build, sizes));
        Some(Self { attention, experts, norms, mixing })
    }
}

impl Block for InStreams {
    fn run<'t>(
        &self,
        tape: &'t Tape,
        streams: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>) {
        let [of_attention, of_experts] = &self.mixing;
        let weights = of_attention.weigh(streams);
        tape.at("Input norm", sources::PYTORCH_AUTOGRAD);
        let normed = self.norms[0].run(&weights.collapsed);
        let (attended, _probabilities) = self.attention.run(tape, &{ normed }, tables);
        let streams =
            of_attention.spread(&weights, &attended, streams).named("streams behind attention");
        drop(weights);
        let weights = of_experts.weigh(&streams);
        tape.at("Post-attention norm", sources::PYTORCH_AUTOGRAD);
        let normed = self.norms[1].run(&weights.collapsed);
        let fed = self.experts.run(tape, &{ normed });
        (of_experts.spread(&weights, &fed, &streams).named("block output"), None)
    }
}
