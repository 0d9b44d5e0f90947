//! The words that a family's file is written with.

pub(super) use super::keys::{Attends, Heads, InnerWidth, KeyValueHeads, ManyStreams, OwnSizes, States, Tower};
pub(super) use super::spec::{
    ATTENTION_BIAS, BY_STEP, Experts, FROM_FIRST, FamilySpec, Flag, INDEXER, LEARNED, Latent, Norms, Positions, Refused, Sizes,
    Window,
};
pub(super) use crate::config::{
    AddedParts, BlockLayout, Division, EmbeddedParts, EmbeddingScale, Encoder, EncoderModules, ExpertModules, ExpertsRule,
    Extent, FamilyChoice, FeedForwardStyle, Further, GgufRules, HeadWidth, HiddenAct, LinearBiases, LinearStyle, Measured,
    MixerKind, MlpKind, Modules, NormStyle, Normalization, PositionBuffers, PositionEmbedding, PositionIds, Projections,
    QueryKeyNorm, RotaryTables, RotationStyle, RouterScores, RouterWeights, ShapeRule, SinkStyle, TensorPlan, TokenMask,
};
