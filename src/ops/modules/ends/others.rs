//! Ends of encoders, of decoders with an encoder beside them, and of models for other tasks than
//! text: steps that few models take. They are reached through one table, which is a part of
//! [`crate::ops::modules::rare`].

use super::encoder::{OfEncoder, Transform};
use super::frames::Frames;
use super::source::OfSource;
use super::task::OfTask;
use super::{Ends, declared};
use crate::config::Task;
use crate::ops::modules::compressed::Streams as Collapses;
use crate::ops::modules::{Build, Linear};
use crate::ops::tape::{Param, Tape, Var};
use crate::ops::tensor::Dim;
use crate::sources;
use crate::units::DType;

/// Embedded distances, where there are some, and distances.
type Distances<'t> = (Option<Var<'t>>, Var<'t>);

/// The steps.
#[derive(Debug)]
pub(in crate::ops::modules) struct OtherEnds {
    /// The encoder beside the decoder, and a table of words that nobody reads.
    pub(super) beside: fn(&Build<'_>, bool, Dim, Param) -> Option<Box<OfSource>>,
    /// Parts of the embedding that encoders alone have.
    pub(super) of_encoder: fn(&Build<'_>, bool) -> OfEncoder,
    /// Convolutions of frames in place of an embedding.
    pub(super) frames: fn(&Build<'_>) -> Option<Frames>,
    /// Parts behind the final norm; the head of a task takes the place of the output head.
    pub(super) finish: fn(&mut Ends, &Build<'_>),
    /// Buffers of an encoder's positions.
    pub(super) positions: for<'t> fn(&Ends, &'t Tape) -> Vec<Var<'t>>,
    /// The first states that frames become.
    pub(super) of_frames: for<'t> fn(&Ends, &'t Tape, &Var<'t>) -> Option<Var<'t>>,
    /// Embedded tokens with their sound and shape, and without those that are masked.
    pub(super) tokens: for<'t> fn(&Ends, &'t Tape, Var<'t>) -> Var<'t>,
    /// Embedded tokens with their types.
    pub(super) types: for<'t> fn(&Ends, &'t Tape, Var<'t>, &mut Vec<Var<'t>>) -> Var<'t>,
    /// Embedded tokens with their places in a page.
    pub(super) in_page: for<'t> fn(&Ends, &'t Tape, Var<'t>) -> Var<'t>,
    /// Embedded tokens behind their norm: without those that are masked, and in the model's width.
    pub(super) behind_norm: for<'t> fn(&Ends, &'t Tape, Var<'t>, &mut Vec<Var<'t>>) -> Var<'t>,
    /// How far keys lie from queries, where blocks read it.
    pub(super) distances: for<'t> fn(&Ends, &'t Tape) -> Option<Distances<'t>>,
    /// Biases of scores for how far keys lie from queries.
    pub(super) biases: for<'t> fn(&Ends, &'t Tape) -> Option<Var<'t>>,
    /// The masks that an encoder adds to scores.
    pub(super) masks: for<'t> fn(&Ends, &'t Tape, DType) -> [Option<Var<'t>>; 2],
    /// The sum of streams behind the last block.
    pub(super) collapsed: for<'t> fn(&Collapses, &Var<'t>) -> Var<'t>,
    /// The pooler's output.
    pub(super) pooled: for<'t> fn(&Ends, &'t Tape, &Var<'t>) -> Option<Var<'t>>,
    /// The head's input behind the layer before it.
    pub(super) transformed: for<'t> fn(&Transform, &'t Tape, &Var<'t>) -> Var<'t>,
    /// The loss over all tokens.
    pub(super) loss: for<'t> fn(&Ends, &'t Tape, (Var<'t>, Var<'t>), &Linear) -> Var<'t>,
    /// The loss of a task.
    pub(super) of_task: for<'t> fn(&OfTask, &'t Tape, Var<'t>, &Var<'t>) -> Var<'t>,
}

/// The table.
pub(in crate::ops::modules) const OTHER_ENDS: OtherEnds = OtherEnds {
    beside: declared::beside,
    of_encoder: OfEncoder::new,
    frames: Frames::new,
    finish,
    positions: Ends::buffers_of_positions,
    of_frames: Ends::of_frames,
    tokens,
    types: Ends::with_types,
    in_page: Ends::with_places_in_page,
    behind_norm,
    distances: Ends::embedded_distances,
    biases: Ends::biases_of_distances,
    masks: Ends::mask_of_tokens,
    collapsed: Collapses::joined,
    pooled: Ends::pooled,
    transformed: Transform::run,
    loss: Ends::of_all_tokens,
    of_task: OfTask::run,
};

fn finish(ends: &mut Ends, build: &Build<'_>) {
    let (with, model) = (build.with, build.model());
    if model.pooler {
        // The pooler reads one token of a sequence, and no text is predicted from it, so no
        // gradient reaches it.
        build.tape.at("Pooler", sources::ARITHMETIC);
        let pooler = [
            build.parameter("pooler weight", [with.h(), with.h()]),
            build.vector("pooler bias", with.h()),
        ];
        for parameter in pooler {
            build.tape.idle(parameter);
        }
        ends.own.pooler = model.encoder.map(|_| pooler);
    }
    crate::ops::modules::further::declare(build, false);
    ends.mixed = model.compressed.as_ref().map(|sizes| Box::new(Collapses::new(build, sizes)));
    ends.task = model.task.map(|task: Task| Box::new(OfTask::new(build, task)));
    let predicts_words = ends.task.is_none() && !with.tuning.objective.scores();
    let transformed = predicts_words && model.encoder.is_some_and(|encoder| encoder.head_transform);
    ends.own.transform = transformed.then(|| Transform::new(build));
}

fn tokens<'t>(ends: &Ends, tape: &'t Tape, embedded: Var<'t>) -> Var<'t> {
    let embedded = ends.with_sound_and_shape(tape, embedded);
    ends.without_masked(tape, embedded)
}

fn behind_norm<'t>(
    ends: &Ends,
    tape: &'t Tape,
    hidden: Var<'t>,
    held: &mut Vec<Var<'t>>,
) -> Var<'t> {
    let hidden = ends.masked_tokens(tape, hidden);
    let hidden = ends.of_the_models_width(tape, hidden, held);
    match ends.forms.streams {
        Some(streams) => Collapses::spread(streams, &hidden),
        None => hidden,
    }
}
