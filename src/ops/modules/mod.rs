//! Hugging Face transformers' modules (5.23) on the tape: each family puts the same few parts
//! together in its own order.
//!
//! A module declares its parameters in the order in which PyTorch registers them and runs its
//! `forward` with the same local variables: what Python still holds is still held here, what it
//! lets go is let go.

mod adapter;
mod altup;
mod attention;
mod attention_core;
mod bloom;
mod build;
mod compressed;
mod decoder;
mod deepseek;
mod dense;
mod differential;
mod disentangled;
mod ends;
mod falcon;
mod feed;
mod further;
mod gate;
mod gpt2;
mod in_pairs;
mod index_blocks;
mod indexer;
mod mixers;
mod mlp;
mod moe;
mod neox;
mod neox_japanese;
mod norm;
mod norm_gate;
pub(crate) mod rare;
mod rotary;
mod rotation;
mod shared;
mod sinks;
mod sparse;
mod state;
mod tables;
mod time_mixed;
mod tower;
mod value_mask;
mod wrapped;

use std::borrow::Cow;

use super::builder::Lowering;
use super::tape::{Copies, Form, Packed, Param, Tape, Var};
use super::tensor::Dim;
use crate::config::{Float8, LayerKind, ModelConfig, Tuning};
use crate::stacks::{TokenSender, TokenSplit};
use crate::units::DType;
use adapter::Adapter;

pub(crate) use super::division::Part;
pub(crate) use altup::{EMBEDDING_OF_LAYERS, OfLayer, SharedKeys};
pub(crate) use attention_core::CROSSES;
pub(crate) use build::Build;
pub(crate) use decoder::cached;
pub(crate) use dense::{CROSS, NORM_ACROSS};
pub(crate) use ends::{AroundLoss, Ends};
pub(crate) use state::{State, split as split_of_state};
pub(crate) use tables::Tables;
pub(crate) use tower::{BESIDE, OPERATIONS as OF_TOWER};

/// The tensors that a layer keeps of a token that it served: name, heads and width of each.
pub(crate) type Cached = Vec<(&'static str, [Dim; 2])>;

/// One transformer block: declared with its parameters, run on hidden states.
pub(crate) trait Block {
    /// The block's output, and what else it returns (held until the next block has returned).
    fn run<'t>(
        &self,
        tape: &'t Tape,
        hidden: &Var<'t>,
        tables: &Tables<'t>,
    ) -> (Var<'t>, Option<Var<'t>>);

    /// The output of a first part of the block, which [`Tables::before`] hands to [`Self::run`];
    /// `None` of blocks that are checkpointed as one.
    fn part_before<'t>(
        &self,
        _tape: &'t Tape,
        _hidden: &Var<'t>,
        _tables: &Tables<'t>,
    ) -> Option<Var<'t>> {
        None
    }

    /// True if a first part is checkpointed apart from the rest.
    fn has_part_before(&self) -> bool {
        false
    }
}

/// Blocks of the same kind have the same modules, and learn or do not.
pub(crate) fn kind(model: &ModelConfig, tuning: &Tuning, layer: u64) -> (LayerKind, bool) {
    (model.kind_of(layer), tuning.freezes_block(layer))
}

/// The block at that place, with its parameters declared in the order in which the family registers
/// them.
pub(crate) fn block(build: &Build<'_>, layer: u64) -> Box<dyn Block> {
    let (model, kind) = (build.model(), build.model().kind_of(layer));
    let before = build.tape.freeze(build.with.tuning.freezes_block(layer));
    let block = match model.of_layers(kind) {
        Cow::Owned(model) if kind.source => {
            whole_block(&Build::again(build.tape, &build.with.of_source(&model)), layer)
        }
        // Layers with heads or widths of their own have other shapes.
        Cow::Owned(model) => whole_block(
            &Build::again(build.tape, &Lowering { model: &model, ..*build.with }),
            layer,
        ),
        Cow::Borrowed(_) => whole_block(build, layer),
    };
    build.tape.freeze(before);
    block
}

/// A block with the parameters that are counted beside it.
fn whole_block(build: &Build<'_>, layer: u64) -> Box<dyn Block> {
    let block = block_of(build, layer);
    further::declare(build, true);
    block
}

fn block_of(build: &Build<'_>, layer: u64) -> Box<dyn Block> {
    if rare::has_other_blocks(build.model(), build.kernels()) {
        (rare::rare().block)(build, layer)
    } else {
        Box::new(decoder::Decoder::new(build, layer))
    }
}

/// The shapes that modules share, made once per tape; sizes are those of one tensor-parallel rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shapes {
    /// `[b, s, h]`; of this rank's part of the tokens under sequence parallelism.
    pub hidden: Form,
    /// `[b, s, h]` of all tokens, where ranks have parts of them.
    pub all_tokens: Option<Form>,
    /// How parts of the tokens become all of them.
    pub exchange: Exchange,
    /// `[b, s]`.
    pub tokens: Form,
    /// `[b, s]` of the text alone, where learned tokens stand before it.
    pub text: Form,
    /// `[b, s, 1]` of norms.
    pub rows: Form,
    /// Keys `[b, a, n + s, d]` for every query head, with learned ones before those of the text;
    /// values, whose heads may have another width.
    pub repeated: [Form; 2],
    /// Queries `[b, a, s, d]`.
    pub queries: Form,
    /// Keys `[b, k, s, d]`.
    pub keys: Form,
    /// Values, whose heads may have another width.
    pub values: Form,
    /// `[b, a, s]`.
    pub statistics: Form,
    /// `[b, a, s, s]`.
    pub scores: Form,
    /// `[b, s, f]`.
    pub inner: Form,
    /// `[b, s, v]`; served, those of the last token of each sequence alone.
    pub logits: Form,
    /// One number.
    pub scalar: Form,
}

impl Shapes {
    /// All tokens of what a layer reads, where they are gathered before its products.
    fn gathered<'t>(&self, x: &Var<'t>) -> Var<'t> {
        match (self.exchange, self.all_tokens) {
            (Exchange::Apart { .. }, Some(whole)) => {
                self.exchange.send(x.clone(), whole).named("input of all tokens")
            }
            _ => x.clone(),
        }
    }
}

/// How the tensors of parts of the tokens, and of all, are made of each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// By products, which send what they read or make.
    ByProducts,
    /// Before and behind products; `several`: of more than one sequence.
    Apart { sender: TokenSender, several: bool },
}

impl Exchange {
    fn of(with: &Lowering) -> Self {
        match with.stack.modules().tokens {
            TokenSplit::BeforeProducts(sender) if splits_tokens(with) => {
                Self::Apart { sender, several: with.micro_batch_size > 1 }
            }
            _ => Self::ByProducts,
        }
    }

    /// A tensor of all tokens from every rank's part, or a rank's part of the sum over ranks.
    fn send(self, x: Var<'_>, form: Form) -> Var<'_> {
        match self {
            Self::ByProducts => x.exchanged(form),
            Self::Apart { sender, several } => {
                let copies = match sender {
                    TokenSender::SpmdTypes => Copies { gathered: true, scattered: several },
                    TokenSender::DTensor => Copies { gathered: several, scattered: true },
                };
                x.exchanged_in_order(form, copies, sender == TokenSender::DTensor)
            }
        }
    }

    /// True if a rank's part of the tokens lies in another order than its shape says.
    fn leaves_order(self) -> bool {
        self == Self::Apart { sender: TokenSender::SpmdTypes, several: true }
    }

    /// True if rows of words that a rank does not have become zeros in place.
    fn masks_in_place(self) -> bool {
        matches!(self, Self::Apart { sender: TokenSender::DTensor, .. })
    }
}

/// Tokens of the text, without those that prompt tuning puts before it.
fn text(with: &Lowering) -> Dim {
    let s = with.s();
    Dim(s.0, s.1.saturating_sub(with.tuning.tokens_before()).max(1))
}

/// Tokens whose keys attention sees: those of the text, and learned ones.
fn keys(with: &Lowering) -> Dim {
    match with.tuning.keys_before() {
        0 => with.s(),
        learned => Dim("num_virtual_tokens + seq_length", with.s().1.saturating_add(learned)),
    }
}

/// True if ranks have parts of the tokens between attention and feed-forward, as Megatron-LM's
/// sequence parallelism splits them.
///
/// transformers' tensor parallelism does not split them; experts and latent attention are not
/// modelled with it.
fn splits_tokens(with: &Lowering) -> bool {
    let model = with.model;
    let plain = model.moe.is_none() && model.mla.is_none() && model.family.modules().splits_tokens;
    with.sequence_parallel
        && with.tensor_model_parallel_size > 1
        && with.stack.modules().tokens != TokenSplit::Never
        && plain
}

/// How tensor-parallel ranks share a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Split {
    /// Ranks do not share the layer.
    None,
    /// By output columns: backward sums the input's gradient over ranks.
    Column,
    /// By input columns: the output is summed over ranks.
    Row,
}

/// A linear layer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linear {
    weight: Param,
    bias: Option<Param>,
    form: Form,
    conv1d: bool,
    split: Split,
    /// This rank's part of the output columns, which are then gathered, or of the input columns,
    /// which all ranks have.
    part: Option<Form>,
    /// The shape of all tokens' hidden states, where ranks have parts of them.
    all_tokens: Option<Form>,
    exchange: Exchange,
    /// How the weight is kept, where it is frozen in four bits.
    packed: Option<Packed>,
    /// How its operands are cast, where its products run in float8.
    float8: Option<Float8>,
    adapter: Option<Adapter>,
    /// True if autocast casts the operands of products.
    autocast: bool,
}

impl Linear {
    /// `x · Wᵀ (+ bias)`, and the contribution of an adapter.
    pub fn run<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let output = self.base(x);
        self.adapted(x, output)
    }

    /// The output with an adapter's contribution, if there is an adapter.
    fn adapted<'t>(&self, x: &Var<'t>, output: Var<'t>) -> Var<'t> {
        x.tape().multiplied(x.form(), output.form());
        match &self.adapter {
            Some(adapter) => adapter.run(x, output, self),
            None => output,
        }
    }

    /// The weight in the format of products.
    fn whole<'t>(&self, tape: &'t Tape) -> Var<'t> {
        self.packed.map_or_else(|| tape.read(self.weight), |packed| tape.unpacked(packed))
    }

    fn base<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let x = match (self.split, self.all_tokens, self.part) {
            (Split::Column, Some(_), _) if self.exchange != Exchange::ByProducts => x.clone(),
            (Split::Column, None, _) => x.clone().summed_in_backward(),
            (Split::Column, Some(_), _) => {
                x.tape().gathering(self.all_tokens);
                x.clone()
            }
            (Split::Row, _, Some(part)) => x.clone().exchanged(part),
            _ => x.clone(),
        };
        let tokens = self.all_tokens.filter(|_| self.split == Split::Row);
        let columns = self.part.filter(|_| self.split == Split::Column);
        let form = tokens.or(columns).unwrap_or(self.form);
        let output = match (self.packed, self.bias) {
            _ if self.float8.is_some() => {
                x.linear_in_float8(self.weight, self.float8.unwrap_or_default(), form)
            }
            (Some(packed), bias) => x.linear_packed(packed, bias, form),
            (None, Some(bias)) if self.conv1d => x.conv1d(self.weight, bias, form),
            (None, bias) => x.linear(self.weight, bias, form),
        };
        match (self.split, tokens, columns) {
            (_, _, Some(_)) | (Split::Row, Some(_), _) => self.exchange.send(output, self.form),
            (Split::Row, None, _) => output.summed_over_ranks(),
            _ => output,
        }
    }
}

/// Half of a width, for rotation.
fn half(width: u64) -> Dim {
    Dim("half of the head", width / 2)
}

/// Format of fp32 arithmetic.
const FP32: DType = DType::Fp32;
