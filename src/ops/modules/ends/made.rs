//! Both ends as a model declares them: which parameters they have, and how they run.

use std::cell::Cell;

use super::declared::{Embeddings, is_turned, of_windows, scales_output, wants_gradient};
use super::forms::Forms;
use super::parts::PartOfLoss;
use super::{Ends, encoder, head};
use crate::config::{AttentionKernel, BlockLayout, EmbeddingScale, PositionEmbedding, Recompute};
use crate::ops::modules::adapter::{Prefix, Prompt};
use crate::ops::modules::altup::Streams;
use crate::ops::modules::norm::Norm;
use crate::ops::modules::rare::{self, rare};
use crate::ops::modules::{Build, Linear};
use crate::ops::tape::Param;
use crate::ops::tensor::Dim;
use crate::sources;
use crate::stacks::{LossKernel, RotationKernel};
use crate::units::DType;

/// Width of the token embedding and the head.
pub(super) fn own_width(build: &Build<'_>) -> Dim {
    let stated = build.model().word_embed_proj_dim;
    stated.map_or_else(
        || encoder::embedding_width(build),
        |stated| Dim("word_embed_proj_dim", stated),
    )
}

/// Into and out of the model's width, where the embedding has another.
fn projections(build: &Build<'_>, own: Dim) -> Option<[Linear; 2]> {
    let (with, tape) = (build.with, build.tape);
    build.model().word_embed_proj_dim.map(|_| {
        let narrow = tape.form([with.b(), with.s(), own]);
        tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        let out = build.linear(("weight out of the model's width", None), (own, with.h()), narrow);
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        [
            build.linear(
                ("weight into the model's width", None),
                (with.h(), own),
                build.shapes.hidden,
            ),
            out,
        ]
    })
}

/// The final norm where it is registered before the blocks, and the norm behind the embedding.
fn early_norms(build: &Build<'_>, (first, last): (bool, bool), embedded: Dim) -> [Option<Norm>; 2] {
    let model = build.model();
    let norm = |op, is_there: bool, width| {
        build.tape.at(op, sources::PYTORCH_AUTOGRAD);
        is_there.then(|| Norm::new(build, width, build.shapes.rows))
    };
    let early = last && model.family.modules().registers_norms_first && model.final_norm;
    let last = norm("Final norm", early, build.with.h());
    // Trained, the first block of some has it.
    let in_block = build.with.training && model.family.modules().block == BlockLayout::TimeMixed;
    [last, (first && model.embedding_norm && !in_block).then(|| Norm::of_embedded(build, embedded))]
}

/// How many buffers of rotary factors there are, where these are no tables of a step: one for each
/// block, or one for all.
pub(super) fn factors(build: &Build<'_>) -> Option<u64> {
    match build.kernels().rotation {
        RotationKernel::ComplexInFp32 { in_every_block: true } => {
            Some(build.model().num_hidden_layers)
        }
        RotationKernel::ComplexInFp32 { in_every_block: false } | RotationKernel::PairsInFp32 => {
            Some(1)
        }
        RotationKernel::OfFamily | RotationKernel::InPlace => None,
    }
}

/// The format of the buffer that the embedding is multiplied by, if there is one.
fn scale(build: &Build<'_>) -> Option<DType> {
    match build.model().family.modules().embedding_scale {
        EmbeddingScale::None | EmbeddingScale::Number => None,
        EmbeddingScale::Buffer => Some(build.with.made_in),
        EmbeddingScale::NarrowBuffer => Some(DType::Bf16),
        EmbeddingScale::WholeBuffer => Some(DType::Int64),
    }
}

impl Ends {
    /// Declares the embedding's parameters; [`Self::finish`] those of the head.
    ///
    /// A pipeline stage has `first` with the embedding and `last` with head and loss; the last one
    /// keeps a copy of a tied embedding.
    pub fn new(build: &Build<'_>, first: bool, last: bool) -> Self {
        Self::with_embedding(build, (first, last), None)
    }

    /// Declares them around an embedding that is there already, if there is one.
    pub(super) fn with_embedding(
        build: &Build<'_>,
        (first, last): (bool, bool),
        shared: Option<Param>,
    ) -> Self {
        let (with, model) = (build.with, build.model());
        let (modules, others) = (model.family.modules(), rare::other_ends(model));
        let (own, places) = (own_width(build), encoder::embedding_width(build));
        let Embeddings { embedding, source, positions, of_encoder } =
            Embeddings::new(build, (first, last), shared);
        let sight = if first && model.tower.is_some() { (rare().tower)(build) } else { None };
        let projections = projections(build, own);
        let [final_norm, embedding_norm] = early_norms(build, (first, last), places);
        let (kinds_of_masks, [slides, two_tables]) = of_windows(model);
        Self {
            embedding,
            first,
            last,
            received: with.parameter,
            made_in: with.made_in,
            positions,
            own: of_encoder,
            others,
            bidirectional: !model.is_causal(),
            projections,
            embedding_norm,
            final_norm,
            head: None,
            streams: None,
            mixed: None,
            kept_keys: with.recompute == Recompute::Full,
            shapes: build.shapes,
            forms: Forms::new(build),
            loss: build.loss(),
            parts: PartOfLoss::all(build),
            frames: others.and_then(|others| (others.frames)(build)),
            source,
            task: None,
            labels_moved: !model.is_causal() || model.source.is_some(),
            scales_output: scales_output(model),
            logits_buffer: Cell::default(),
            tower: model.tower.filter(|_| first),
            sight,
            own_model: build.kernels().is_own_model,
            rotary: is_turned(model),
            factors: factors(build),
            last_factors: Cell::default(),
            loss_behind: build.kernels().loss_behind_model,
            compiled: with.compiled && with.loss.is_compiled(),
            alibi: model.position_embedding == PositionEmbedding::Alibi,
            eager: with.attention == AttentionKernel::Standard || modules.masks_by_values,
            kinds_of_masks,
            slides,
            two_tables,
            leaves_some_unrotated: model.leaves_some_unrotated(),
            keeps_embedded: model.shared.is_some(),
            scale: scale(build),
            modules,
            soft_cap: model.final_logit_softcapping,
            batched: with.micro_batch_size > 1,
            scores: with.tuning.objective.scores(),
            prompt: first.then(|| Prompt::new(build)).flatten(),
            prefix: first.then(|| Prefix::new(build)).flatten(),
            wanting: wants_gradient(build),
        }
    }

    /// Declares final norm and head.
    pub fn finish(&mut self, build: &Build<'_>) {
        if !self.last {
            return;
        }
        let (with, model) = (build.with, build.model());
        build.tape.at("Final norm", sources::PYTORCH_AUTOGRAD);
        let missing = model.final_norm && self.final_norm.is_none();
        self.final_norm = self.final_norm.or_else(|| missing.then(|| Norm::last(build)));
        self.streams = model.altup().map(|altup| Streams::new(build, altup));
        if let Some(others) = self.others {
            (others.finish)(self, build);
        }
        if self.task.is_some() {
            return;
        }
        build.tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
        if with.tuning.objective.scores() {
            // The head for scores is new, so it learns even where the model is frozen.
            let frozen = build.tape.freeze(false);
            self.head = Some(build.linear(
                ("score weight", None),
                (Dim("score", 1), with.h()),
                build.shapes.rows,
            ));
            build.tape.freeze(frozen);
            return;
        }
        if self.modules.registers_head_bias_twice && !model.tie_word_embeddings {
            build.tape.idle(build.vector("unused head bias", with.vocab_part()));
        }
        let added = model.encoder.is_some() && self.modules.encoder.adds_head_bias;
        self.own.head_bias = added.then(|| build.vector("head bias", with.vocab_part()));
        let bias = (model.lm_head_bias && !added).then_some("head bias");
        self.head = Some(if model.tie_word_embeddings {
            let bias = bias.map(|name| build.vector(name, with.vocab_part()));
            head::tied(build, self.embedding, bias)
        } else {
            head::own(build, bias)
        });
    }

    /// Logits are written, where head and loss were one, and the loss is transformers' own.
    pub fn write_logits(&mut self) {
        if self.loss == LossKernel::InEvenChunks {
            self.loss = LossKernel::FullLogits;
        }
    }
}
