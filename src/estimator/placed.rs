//! Parts of a served model that lie in the host's memory, by the rule of its engine.

use std::rc::Rc;

use super::ledger::{Certainty, LineItem, MemoryKind, sort_by_kind};
use super::served::{self, Side};
use super::stage::{self, Scope, Stage};
use crate::config::{Job, Run, ServingRun};
use crate::engines::OnHost;
use crate::ops::formats::{self, Formats};
use crate::ops::{self, Op, OpList, Role, Tensor};
use crate::sources::Source;
use crate::units::Bytes;

/// Label of cached keys and values in the host's memory.
pub const CACHE_ON_HOST: &str = "KV cache on the host";

/// The parts of a job's model that lie in the host's memory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    /// The first layers, all of them with their cache.
    pub layers: u64,
    /// The first layers, their routed experts alone.
    experts: u64,
    /// True for the token table.
    pub table: bool,
    /// True for the head.
    pub head: bool,
    /// True for the whole cache.
    pub cache: bool,
    /// The first parameters of each stage.
    streamed: Vec<Prefix>,
    source: Source,
}

/// The first parameters of a stage: layers, and of the one behind them so many tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix {
    from: u64,
    to: u64,
    tensors: usize,
    /// Their bytes on a tensor rank.
    bytes: Bytes,
}

impl Placed {
    /// The parts in the host's memory; `None` where there are none, or where the engine has no rule
    /// for them.
    pub fn of(job: &Job) -> Option<Self> {
        let Run::Serving(run) = job.run() else { return None };
        let (asked, all) = (&run.in_host_memory, job.model().num_hidden_layers);
        match run.engine.spec().host {
            OnHost::Computed { source, .. } if asked.is_computed_there(all) => Some(Self {
                layers: asked.layers(all),
                experts: asked.expert_layers,
                table: true,
                head: asked.gpu_layers == Some(0),
                cache: asked.cache,
                streamed: Vec::new(),
                source,
            }),
            OnHost::Streamed { source, .. } if asked.weights > Bytes::ZERO => Some(Self {
                layers: 0,
                experts: 0,
                table: false,
                head: false,
                cache: false,
                streamed: prefixes(job, run),
                source,
            }),
            OnHost::Computed { .. } | OnHost::Streamed { .. } | OnHost::Nothing => None,
        }
    }

    /// True if a parameter of a layer lies in the host's memory; `at` is its place among the
    /// layer's.
    pub fn has(&self, layer: u64, op: &Op, (at, tensor): (usize, &Tensor)) -> bool {
        layer < self.layers
            || layer < self.experts && formats::is_routed(op, tensor)
            || self.streamed.iter().any(|prefix| prefix.has(layer, at))
    }

    /// The first layers of which the cache lies in the host's memory.
    pub const fn cached_layers(&self, all: u64) -> u64 {
        if self.cache { all } else { self.layers }
    }
}

impl Prefix {
    fn has(&self, layer: u64, at: usize) -> bool {
        (self.from..self.to).contains(&layer) || layer == self.to && at < self.tensors
    }
}

/// The first parameters of every stage that together have the bytes asked for, the last of them
/// whole.
fn prefixes(job: &Job, run: &ServingRun) -> Vec<Prefix> {
    let list = ops::without_products(&ops::lowering(job));
    let formats = Formats::of(job.model(), run.quantization, run.group_size);
    let of_stage = |position| {
        let range = job.layout().blocks_at(job.model().num_hidden_layers, position);
        let (mut left, mut taken) = (run.in_host_memory.weights, Bytes::ZERO);
        for layer in range.clone() {
            let Some(kind) = list.kinds.iter().find(|kind| kind.of == job.model().kind_of(layer))
            else {
                continue;
            };
            for (at, (_, tensor)) in ops::tensors(&kind.ops, Role::Parameter).enumerate() {
                if left == Bytes::ZERO {
                    return Prefix { from: range.start, to: layer, tensors: at, bytes: taken };
                }
                let bytes = bytes_of(job, &formats, tensor, layer);
                (left, taken) = (left.saturating_sub(bytes), taken + bytes);
            }
        }
        Prefix { from: range.start, to: range.end, tensors: 0, bytes: taken }
    };
    (0..job.layout().p()).map(of_stage).collect()
}

/// Bytes of a layer's parameter on a tensor rank.
fn bytes_of(job: &Job, formats: &Formats, tensor: &Tensor, layer: u64) -> Bytes {
    let mut bytes = Bytes::ZERO;
    let elements = tensor.elements_per_rank(job.layout().t(), false).0;
    formats.each(tensor, elements, std::iter::once(layer), |stored, count| {
        bytes += stored.total() * count;
    });
    bytes
}

/// The lines of the host's memory: of what a processor computes those of a whole instance, of what
/// crosses links those of one rank of the stage.
pub(super) fn lines(job: &Job, stage: u64) -> Vec<LineItem> {
    let (Run::Serving(run), Some(placed)) = (job.run(), Placed::of(job)) else {
        return Vec::new();
    };
    let list = ops::without_products(&ops::lowering(job));
    let is_streamed = !placed.streamed.is_empty();
    let stage = if is_streamed {
        Stage { embedding: false, head: false, ..stage::stage(job, stage) }
    } else {
        Stage { embedding: placed.table, head: placed.head, ..stage::only(job) }
    };
    let mut found = weights(job, run, (&list, &placed), stage);
    let note = if is_streamed {
        "Parameters of the first layers, which every step reads over the link."
    } else {
        "What the processor computes with, and the token table."
    };
    for line in &mut found {
        (line.note, line.source, line.certainty) = (note, placed.source, Certainty::Modelled);
    }
    let cached = placed.cached_layers(job.model().num_hidden_layers);
    found.push(LineItem {
        kind: MemoryKind::KvCache,
        label: CACHE_ON_HOST,
        bytes: served::held(job, &ops::lowering(job), 0..cached),
        tensors: Vec::new(),
        note: "Keys and values of the layers that the processor computes, or of all.",
        source: placed.source,
        certainty: Certainty::Modelled,
    });
    // The processor has the parts of all tensor ranks.
    let ranks = if is_streamed { 1 } else { job.layout().t() };
    for line in &mut found {
        line.bytes = line.bytes * ranks;
    }
    found.retain(|line| line.bytes > Bytes::ZERO);
    sort_by_kind(&mut found);
    found
}

fn weights(
    job: &Job,
    run: &ServingRun,
    (list, placed): (&OpList, &Placed),
    stage: Stage,
) -> Vec<LineItem> {
    let parameters = Rc::new(stage::Parameters::of(job, list));
    let mut found = Vec::with_capacity(3);
    let scope = Scope { job, list, stage, parameters, detail: false };
    served::weights(&scope, run, Side::Host(placed), &mut found);
    found
}

/// Bytes of the host's memory that all instances on one host take: of what crosses links, those of
/// the stage with the most on each rank; of what a processor computes, those of whole instances.
///
/// The prefixes of all stages are read once, and not anew for every stage: a model may have ten
/// thousand of them.
pub(super) fn on_one_host(job: &Job) -> Bytes {
    let node = job.cluster().accelerator.accelerators_per_node.max(1);
    let (t, p, all) = (job.layout().t(), job.layout().p(), job.layout().world_size());
    let placed = Placed::of(job);
    let streamed = placed.iter().flat_map(|placed| &placed.streamed).map(|prefix| prefix.bytes);
    let (each, most) = if let Some(most) = streamed.max() {
        (1, most)
    } else {
        let lines = lines(job, 0).into_iter().map(|line| line.bytes);
        (t.saturating_mul(p), lines.sum::<Bytes>())
    };
    most * (all.min(node) / each.min(node).max(1)).max(1)
}
