//! Validated inputs of the estimator: the model, its training or serving, its layout and the
//! hardware.
//!
//! Architecture fields carry Hugging Face `config.json` keys, parallelism carries Megatron-LM's
//! words, sharding DeepSpeed's and PyTorch's. A [`Job`] joins them; estimates of a job cannot fail.

mod cache;
mod compressed;
mod draft;
mod dropout;
mod encoder;
mod expert_modules;
mod family;
mod float8;
mod hardware;
mod host;
mod hybrid;
mod images;
mod job;
mod layout;
mod libraries;
mod mixer;
mod model;
mod modules;
mod position_styles;
mod precision;
mod run;
mod schedule;
mod seen;
mod shape;
mod shared;
mod source;
mod speed;
mod steps;
mod styles;
mod task;
mod tiles;
mod tower;
mod tuning;

pub use cache::{CachePart, CachePartKind, CacheParts};
pub use compressed::{Compressed, CompressedLayer, CompressedLayers, Compresses};
pub use draft::Draft;
pub use dropout::{DropKey, Dropout, Drops};
pub use encoder::{
    AddedParts, EmbeddedParts, Encoder, EncoderModules, Extent, Further, HeadWidth, OWN_SIZES,
    PositionBuffers, TokenMask,
};
pub use expert_modules::{ExpertModules, ExpertWeights, RouterScores, RouterWeights, SharedTurn};
pub use family::{Family, GENERIC, HiddenAct, LayerSet, Mla, Moe};
pub use float8::{Float8, Float8Recipe};
pub use hardware::{Accelerator, Cluster, Overheads, PeakRates};
pub use host::{Host, InHostMemory};
pub use hybrid::{AltUp, Feed, Hybrid, Indexer, Keys, LayerKind, OtherHeads};
pub use images::{Images, Seen, number_of_function};
pub use job::{Choice, ConfigError, Job};
pub use layout::{Offload, ParallelLayout, PipelineSplit};
pub use libraries::{LibraryOptions, OverlapComm};
pub use mixer::{Mixer, MixerKind};
pub use model::{MlpKind, ModelConfig, Normalization, PositionEmbedding};
pub use modules::{Division, FamilyChoice, GgufRules, Measured, Modules, TensorPlan};
pub use position_styles::{
    EmbeddingScale, IndexRotation, LinearBiases, PositionIds, RotaryTables, RotatedLayers,
    RotationStyle,
};
pub use precision::{GradientDType, PrecisionRecipe, TrainingPrecision};
pub use run::{
    AttentionKernel, Dispatch, Evaluation, LengthMix, Loss, Recompute, Run, ServingRun, Texts,
    TrainingRun,
};
pub use schedule::{
    PassTimes, PassType, Pipeline, PipelineSchedule, Played, SCHEDULES, ScheduleFacts, Slot, Timed,
};
pub use shape::{ExpertsRule, LayersOfStates, ShapeRule};
pub use shared::SharedBlocks;
pub use source::SourceEncoder;
pub use speed::{Narrow, Overlap, ProductFormat, Speed};
pub use steps::{TowerFact, TowerScale, TowerStep};
pub use styles::{
    AttentionGate, BlockLayout, FeedForwardStyle, LinearStyle, NormStyle, Projections,
    QueryKeyNorm, ScoreStyle, SinkStyle, StateProjections,
};
pub use task::{BeforeClasses, DenseFunction, Task, TaskHeads, TaskKind};
pub use tiles::{GRID, TileRule, TiledImage};
pub use tower::{Tower, TowerBuffer, TowerLayer, TowerModules, TowerPart, TowerSize, TowerSizes};
pub use tuning::{BaseFormat, Method, Objective, Rollout, SavedModules, Targets, Tuning};

pub use crate::engines::{DraftMethod, Engine, OnHost};
pub use crate::optimizers::{Optimizer, OptimizerImplementation};
pub use crate::sharding::DataSharding;
pub use crate::stacks::{
    Flash, LossFusion, MegatronOptions, RecomputeMethod, RecomputeModules, Stack, TokenDispatcher,
};
pub use crate::units::{CacheFormat, WeightFormat};
