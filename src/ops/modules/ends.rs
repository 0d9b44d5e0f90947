//! Both ends: embedding and tables, final norm, head and loss.

mod begin;
mod beside;
mod buffers;
mod chunks;
mod declared;
mod encoder;
mod forms;
mod frames;
mod head;
mod loss;
mod made;
mod others;
mod parts;
mod source;
mod tables;
mod task;

use std::cell::Cell;
use std::rc::Rc;

pub(crate) use chunks::AroundLoss;
use encoder::OfEncoder;
use forms::Forms;
use frames::Frames;
pub(super) use others::{OTHER_ENDS, OtherEnds};
use parts::PartOfLoss;
use source::OfSource;
use task::OfTask;

use super::adapter::{Past, Prefix, Prompt};
use super::altup::{OfLayer, SharedKeys, Streams};
use super::compressed::Streams as Collapses;
use super::norm::Norm;
use super::tables::Tables;
use super::tower::{AroundBlocks, Fed, Sees};
use super::{Linear, Shapes};
use crate::config::{Keys, LinearBiases, ModelConfig, Modules, PositionIds, Tower};
use crate::ops::tape::{Form, Kept, Param, SCALE, Tape, Var};
use crate::sources;
use crate::stacks::LossKernel;
use crate::units::DType;

/// Tensors that the model's `forward` has when the first block begins.
#[derive(Debug)]
pub(crate) struct Embedded<'t> {
    /// The first block's input.
    pub hidden: Var<'t>,
    /// Tables of layers that see everything, and of sliding ones.
    pub tables: [Tables<'t>; 2],
    /// Tensors that `forward` holds until it returns.
    held: Vec<Var<'t>>,
    /// Token ids, which are the labels.
    ids: Var<'t>,
    /// Residual streams, which it holds until they are joined.
    streams: Vec<Var<'t>>,
    /// The decoder's input, while its encoder runs.
    moved: Option<Var<'t>>,
    /// Tokens of images and what they come from, as far as the model's output holds it.
    images: Vec<Var<'t>>,
    /// Tokens of images that feed the text's first blocks.
    fed: Option<Fed<'t>>,
    /// Nodes of a tower whose outputs nobody reads, until `forward` returns.
    unread: (u32, u32),
}

/// Embedding, tables, final norm, head and loss.
#[derive(Debug)]
pub(crate) struct Ends {
    embedding: Param,
    /// True if the embedding belongs to the stage; true if head and loss do.
    first: bool,
    last: bool,
    /// Format of hidden states sent between stages.
    received: DType,
    /// Format of buffers, which is that in which the model was made.
    made_in: DType,
    positions: Option<Param>,
    /// Parts that encoders alone have.
    own: OfEncoder,
    /// The steps of ends that few models have, where this model does.
    others: Option<&'static OtherEnds>,
    /// Every token sees all, and the loss is over all of them.
    bidirectional: bool,
    /// Into and out of the model's width (`word_embed_proj_dim`).
    projections: Option<[Linear; 2]>,
    embedding_norm: Option<Norm>,
    final_norm: Option<Norm>,
    head: Option<Linear>,
    /// Several residual streams.
    streams: Option<Streams>,
    /// Streams that are collapsed before the final norm.
    mixed: Option<Box<Collapses>>,
    /// Keys and values that layers leave for later ones, where these are read again in backward.
    kept_keys: bool,
    shapes: Shapes,
    forms: Forms,
    loss: LossKernel,
    /// Shapes of parts of each sequence that have logits of their own.
    parts: Vec<PartOfLoss>,
    /// Frames are read in place of tokens.
    frames: Option<Frames>,
    /// The ends of an encoder beside the decoder.
    source: Option<Box<OfSource>>,
    /// The head of another task than text.
    task: Option<Box<OfTask>>,
    /// The loss is over all tokens, as whoever gives the labels has moved them by one.
    labels_moved: bool,
    /// The head's input is scaled.
    scales_output: bool,
    /// The buffer that is added to logits.
    logits_buffer: Cell<Option<Kept>>,
    /// A vision tower, of which forward sees nothing while no image is in the texts.
    tower: Option<Tower>,
    /// The tower's run, where there are images.
    sight: Option<Box<dyn Sees>>,
    /// The stack's own model.
    own_model: bool,
    rotary: bool,
    /// Buffers of rotary factors that stay: how many there are, and the last one.
    factors: Option<u64>,
    last_factors: Cell<Option<Kept>>,
    /// The loss is computed when `forward` has returned.
    loss_behind: bool,
    /// The loss is one compiled graph.
    compiled: bool,
    alibi: bool,
    /// Masks are added to scores.
    eager: bool,
    /// Masks: one, or one more for sliding layers. Kernels that need none are given none, after the
    /// same search for packed texts.
    kinds_of_masks: u8,
    /// The only mask is that of sliding layers.
    slides: bool,
    /// Sliding layers have rotary tables of their own (gemma3).
    two_tables: bool,
    /// Blocks that read the first tables do not rotate queries and keys.
    leaves_some_unrotated: bool,
    /// Blocks are given a copy of embedded tokens.
    keeps_embedded: bool,
    /// The format of the buffer that the embedding is multiplied by (gemma).
    scale: Option<DType>,
    modules: &'static Modules,
    soft_cap: bool,
    batched: bool,
    /// A frozen embedding's output wants a gradient, so that checkpointed blocks have one to hand
    /// on: transformers' checkpointing and peft see to it (`enable_input_require_grads`).
    wanting: bool,
    /// The head gives one number for each token.
    scores: bool,
    /// Tokens that learn and stand before the text.
    prompt: Option<Prompt>,
    /// Keys and values that learn.
    prefix: Option<Prefix>,
}

impl Ends {
    /// Keys and values of every layer, where some are learned; peft's `forward` holds them until
    /// the loss is there.
    pub fn past<'t>(&self, tape: &'t Tape) -> Vec<Rc<Past<'t>>> {
        self.prefix.map_or_else(Vec::new, |prefix| prefix.run(tape))
    }

    /// Embedded tokens, and the tables of the step.
    fn embedded<'t>(
        &self,
        tape: &'t Tape,
        ids: &Var<'t>,
        around: AroundBlocks<'_>,
    ) -> Embedded<'t> {
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        let form = self.form_of_embedded();
        let frames = self
            .others
            .and_then(|others| (others.of_frames)(self, tape, ids))
            .map(|made| (made.clone(), made.dtype()));
        let (mut embedded, dtype) = frames.unwrap_or_else(|| self.embedded_tokens(tape, ids, form));
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        if let Some(others) = self.others {
            embedded = (others.tokens)(self, tape, embedded);
        }
        let mut held = Vec::with_capacity(4);
        let (mut images, mut fed, mut unread) = (Vec::new(), None, (0, 0));
        if let Some(sight) = &self.sight {
            let looked = sight.run(tape, embedded, around);
            (embedded, images, unread) = (looked.embedded, looked.tokens, looked.unread);
            fed = looked.fed;
            held.extend(looked.held);
        }
        if let Some(prompt) = &self.prompt {
            embedded =
                prompt.run(tape, embedded, (self.shapes.hidden, self.shapes.tokens), &mut held);
        }
        let positions = self.counts_positions().then(|| self.positions(tape));
        let places = self.placed_first(tape, positions.as_ref(), &mut held);
        let mut hidden = match &self.projections {
            Some([into, _]) if self.first => into.run(&{ embedded }),
            _ => embedded,
        };
        if !self.own_model {
            held.push(hidden.clone());
        }
        if let Some(others) = self.others {
            hidden = (others.types)(self, tape, hidden, &mut held);
        }
        if let Some(places) = places {
            hidden = self.with_places(hidden, places, &mut held);
        }
        if let Some(others) = self.others {
            hidden = (others.in_page)(self, tape, hidden);
        }
        hidden = self.own_part(hidden, &mut held);
        let streams = self.streams.as_ref().filter(|_| self.first);
        let own_input = streams.map(|streams| streams.of_layers(&hidden, ids)).or_else(|| {
            self.keeps_embedded.then(|| hidden.clone().copy().named("embedded tokens"))
        });
        if let Some(norm) = &self.embedding_norm {
            tape.at("Embedding norm", sources::PYTORCH_AUTOGRAD);
            hidden = norm.run(&hidden);
        }
        if let Some(others) = self.others {
            hidden = (others.behind_norm)(self, tape, hidden, &mut held);
        }
        tape.at("Embedding", sources::PYTORCH_AUTOGRAD);
        Embedded {
            images,
            fed,
            unread,
            ..self.with_tables(tape, (hidden, dtype), (positions, ids), (own_input, held))
        }
    }

    /// The shape of embedded tokens.
    fn form_of_embedded(&self) -> Form {
        let whole = self.shapes.all_tokens.unwrap_or(self.shapes.hidden);
        let form = self.projections.map_or(whole, |[_, out]| out.form);
        let form = self.forms.embedded.unwrap_or(form);
        self.prompt.as_ref().map_or(form, |prompt| prompt.text)
    }

    /// True where `forward` makes position ids.
    fn counts_positions(&self) -> bool {
        let beside = self.modules.linear_biases == LinearBiases::BesidePositions;
        let counts =
            !matches!(self.modules.position_ids, PositionIds::Nowhere | PositionIds::Untold);
        let counts = counts && !self.sight.as_ref().is_some_and(|sight| sight.counts_by_images());
        (beside || !self.alibi) && !self.own_model && counts
    }

    /// Keys and values that layers leave for later ones.
    pub fn shared_keys(&self) -> Option<&Rc<SharedKeys>> {
        self.streams.as_ref().map(Streams::shared_keys)
    }

    /// Tables as a block is given them: in that format, where there is one. Of them rotary tables
    /// alone are made in another than hidden states are in (OLMo 2); complex numbers stay what they
    /// are.
    pub fn given<'t>(
        &self,
        tables: &Tables<'t>,
        (model, layer): (&ModelConfig, u64),
        format: Option<DType>,
    ) -> Tables<'t> {
        let mut given = tables.clone();
        if model.kind_of(layer).keys == Keys::None {
            given.mask = None;
            given.rotary = given.rotary.filter(|_| self.modules.hands_rotary_to_states);
        }
        if !self.modules.hands_on_positions {
            given.positions = None;
        }
        if let Some(streams) = &self.streams {
            given.own_input = given.own_input.map(|all| streams.of_layer(&all));
            given.layer = Some(OfLayer::new(model, layer, Rc::clone(streams.shared_keys())));
        }
        if let Some(format) = format.filter(|_| !self.forms.complex) {
            let cast = |(cos, sin): (Var<'t>, Var<'t>)| {
                (
                    cos.cast_as(format, "rotary cosines of the block"),
                    sin.cast_as(format, "rotary sines of the block"),
                )
            };
            given.rotary = given.rotary.map(cast);
        }
        given
    }

    /// This rank's part of the embedded tokens, where ranks have parts; nothing whole is held then.
    fn own_part<'t>(&self, hidden: Var<'t>, held: &mut Vec<Var<'t>>) -> Var<'t> {
        if self.shapes.all_tokens.is_none() || !self.first {
            return hidden;
        }
        held.clear();
        self.shapes.exchange.send(hidden, self.shapes.hidden).named("embedded tokens")
    }

    /// The start of backward: the loss, or the output of a stage without one. `around` is told when
    /// `forward` has returned, where the loss is computed behind it.
    pub fn end<'t>(
        &self,
        tape: &'t Tape,
        (embedded, outputs): (Embedded<'t>, Option<Var<'t>>),
        around: &dyn AroundLoss,
    ) -> Var<'t> {
        if let (Some(task), Some(others)) = (&self.task, self.others) {
            let ids = embedded.ids.clone();
            let hidden = self.last_norm(tape, embedded, outputs);
            return (others.of_task)(task, tape, hidden, &ids);
        }
        match &self.head {
            Some(head) => {
                let ids = embedded.ids.clone();
                // The model's `forward` returns the encoder's states, too.
                let _states = embedded.tables[0].source.clone();
                let _images = embedded.images.clone();
                let hidden = self.last_norm(tape, embedded, outputs);
                // The task's `forward` holds the encoder's output.
                let _output = self.own.transform.is_some().then(|| hidden.clone());
                // The decoder's output is part of the model's output.
                let _unscaled = self.scales_output.then(|| hidden.clone());
                let hidden = if self.scales_output {
                    hidden.apply(SCALE).named("head input")
                } else {
                    hidden
                };
                let _pooled = self.others.and_then(|others| (others.pooled)(self, tape, &hidden));
                let hidden = match (&self.own.transform, self.others) {
                    (Some(transform), Some(others)) => {
                        (others.transformed)(transform, tape, &{ hidden })
                    }
                    _ => hidden,
                };
                tape.at("Output head and loss", sources::PYTORCH_AUTOGRAD);
                let hidden = match self.shapes.all_tokens {
                    Some(whole) => self.shapes.exchange.send(hidden, whole),
                    None => hidden,
                };
                if self.scores {
                    head.run(&hidden).named("scores").reduce(self.shapes.scalar)
                } else {
                    match (self.loss, self.others) {
                        (LossKernel::FullLogits, Some(others)) if self.labels_moved => {
                            (others.loss)(self, tape, (hidden, ids), head)
                        }
                        (LossKernel::InChunks { .. }, _) => self.chunked(tape, &hidden, head),
                        (LossKernel::InTiles { tokens, columns }, _) => {
                            self.in_tiles(tape, hidden, head, [tokens, columns])
                        }
                        (LossKernel::OfParts { .. }, _) => self.of_parts(tape, hidden, head),
                        (LossKernel::InEvenChunks, _) => self.in_even_chunks(tape, &hidden, head),
                        (LossKernel::Cut, _) => self.cut(tape, hidden, head),
                        (LossKernel::FullLogits, _) => self.full(tape, hidden, head, around),
                        (LossKernel::ByChunk { .. }, _) => {
                            self.by_chunks(tape, &hidden, head, around)
                        }
                        (LossKernel::ShiftedLogits, _) => self.shifted(tape, (&hidden, &ids), head),
                    }
                }
            }
            None => embedded.hidden,
        }
    }
}
