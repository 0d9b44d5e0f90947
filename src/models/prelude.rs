//! The words that a family's file is written with.

pub(super) use super::counted::*;
pub(super) use super::gguf::Gguf;
pub(super) use super::keys::{
    Absent, Attends, DECODER, Heads, InnerWidth, KeyValueHeads, ManyStreams, OwnSizes, SourceKeys,
    States, Ties,
};
pub(super) use super::rules::{
    ATTENTION_BIAS, BY_STEP, Experts, FROM_FIRST, Flag, LEARNED, Latent, Norms, Only, Otherwise,
    Positions, Sizes, Window,
};
pub(super) use super::spec::FamilySpec;
pub(super) use crate::config::{
    AddedParts, AttentionGate, BlockLayout, CachePart, CachePartKind, DenseFunction, Division,
    DropKey, Drops, EmbeddedParts, EmbeddingScale, Encoder, EncoderModules, ExpertModules,
    ExpertWeights, ExpertsRule, Extent, FamilyChoice, FeedForwardStyle, Further, GgufRules,
    HeadWidth, HiddenAct, IndexRotation, LayersOfStates, LinearBiases, LinearStyle, Measured,
    MixerKind, MlpKind, ModelConfig, Modules, NormStyle, Normalization, PositionBuffers,
    PositionEmbedding, PositionIds, Projections, QueryKeyNorm, RotaryTables, RotatedLayers,
    RotationStyle, RouterScores, RouterWeights, ScoreStyle, ShapeRule, SharedTurn, SinkStyle,
    StateProjections, TaskHeads, TensorPlan, TokenMask,
};
