//! The words that a family's file is written with.

pub(super) use super::keys::{Attends, Heads, InnerWidth, KeyValueHeads, ManyStreams, States, Tower};
pub(super) use super::spec::{
    ATTENTION_BIAS, BY_STEP, Experts, FROM_FIRST, FamilySpec, Flag, LEARNED, Latent, Norms, Only, Otherwise, Positions, Sizes,
    Window,
};
pub(super) use crate::config::{
    AttentionGate, BlockLayout, Division, EmbeddingScale, Encoder, ExpertModules, ExpertWeights, ExpertsRule, FamilyChoice,
    FeedForwardStyle, GgufRules, HiddenAct, IndexRotation, LinearBiases, LinearStyle, Measured, MixerKind, MlpKind, Modules,
    NormStyle, Normalization, PositionEmbedding, PositionIds, Projections, QueryKeyNorm, RotaryTables, RotationStyle,
    RouterScores, RouterWeights, ShapeRule, SharedTurn, SinkStyle, TensorPlan,
};
