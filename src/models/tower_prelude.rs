//! The words that the file of a tower or a projector is written with.

pub(super) use super::tower::{BLOCKS, TowerDefault, TowerKey, TowerSpec, flag, patches, stated, turned};
pub(super) use crate::config::TowerLayer::{LayerNorm, Linear, Matrix, RmsNorm, Table, Vector};
pub(super) use crate::config::TowerSize::{
    Biased, Channels, Derived, Fed, Frames, Further, Heads, Hidden, Image, Inner, Joint, KeyHeads, Layers, Merge, Merged, Normed,
    One, Out, Patch, Patches, Pooled, Positions, Queries, Side, Text, Turned, Wide,
};
pub(super) use crate::config::{TowerBuffer, TowerModules, TowerPart, TowerSizes};
