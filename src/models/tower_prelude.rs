//! The words that the file of a tower or a projector is written with.

pub(super) use super::keys::Ties;
pub(super) use super::tower::{
    BLOCKS, FURTHER, Known, TowerDefault, TowerGroup, TowerKey, TowerOnly, TowerSpec, VISION,
    count, flag, function, maybe, patches, places, product, stated, turned, without_steps,
};
pub(super) use crate::config::TowerLayer::{
    self, EitherNorm, LayerNorm, Linear, Matrix, MaybeBiased, MaybeNorm, Plane, RmsNorm, Runs,
    Table, Vector,
};
pub(super) use crate::config::TowerScale;
pub(super) use crate::config::TowerSize::{
    Act, Behind, Biased, Channels, Cut, Derived, Fed, Frames, Further, Heads, Hidden, Image, Inner,
    Joint, KeyHeads, Layers, Merge, Merged, Normed, One, Out, OutAct, Own1, Own2, Own3, Own4, Own5,
    Own6, Own7, Own8, Own9, Own10, Own11, Own12, Own13, Own14, Own15, Own16, Patch, Patches, Pool,
    Pooled, Positions, Queries, SecondHeads, SecondHidden, SecondInner, SecondLayers, SecondOut,
    Side, Text, TextExperts, TextHead, TextInner, TextKeys, TextLayers, TextPositions, TextQueries,
    TextRows, TextSparse, Turned, Wide,
};
pub(super) use crate::config::{GRID, HiddenAct, TileRule};
pub(super) use crate::config::{TowerBuffer, TowerModules, TowerPart, TowerSize, TowerSizes};
pub(super) use crate::config::{TowerFact as Fact, TowerStep as Step};
