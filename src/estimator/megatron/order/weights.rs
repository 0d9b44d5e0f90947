//! Parameters in the order of Megatron-Core's modules, its buffers of parameters and gradients, and
//! the states that the optimizer keeps.

use super::super::schedule::Kind;
use super::{Order, Taken};
use crate::ops::megatron::{RankModel, RankOp, is_of_adapter};
use crate::ops::{Role, Tensor};
use crate::optimizers::{StateFormat, StepAct, StepTemporaries, UpdatedParameter};
use crate::units::Elements;

/// Elements to whose multiple a parameter begins in a buffer that ranks share
/// (`_pad_start_of_param_if_needed`).
const PARAMETER_ALIGNMENT: u64 = 64;

/// Elements to whose multiple a bucket ends, beside the number of ranks that share it
/// (`_pad_end_of_bucket_if_needed`).
const BUCKET_ALIGNMENT: u64 = 128;

/// Elements of a bucket: at least so many, and so many for each rank that shares it
/// (`DistributedDataParallel.__init__`).
const BUCKET: u64 = 40_000_000;
const BUCKET_OF_RANK: u64 = 1_000_000;

/// Bytes that Transformer Engine asks for beyond a workspace, to align it (`get_cublas_workspace`
/// in `module/base.py`).
const WORKSPACE_ALIGNMENT: u64 = 1024;

/// A parameter of this rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parameter {
    pub elements: u64,
    /// Matrices get weight decay, vectors do not: the optimizer has a group of each.
    pub is_matrix: bool,
    /// Experts have buffers of their own.
    pub is_expert: bool,
    /// True for the token embedding, which a tied head shares.
    pub is_embedding: bool,
    /// True for a parameter of an adapter.
    pub is_of_adapter: bool,
}

/// Parameters that are sent together: where they begin and end in their buffer, and where each
/// begins.
#[derive(Debug, Default)]
struct Bucket {
    begin: u64,
    end: u64,
    parameters: Vec<(u64, Parameter)>,
}

/// Bytes of the weights whose gradients are made one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weights {
    pub embedding: u64,
    pub projection: u64,
    pub output: u64,
    pub up: u64,
    pub down: u64,
    pub head: u64,
    /// One expert's.
    pub expert_up: u64,
    pub expert_down: u64,
}

impl Weights {
    pub fn of(model: &RankModel) -> Self {
        let block = if model.dense.is_empty() { &model.experts } else { &model.dense };
        let find = |steps: &[RankOp], name: &str| {
            let tensors = steps.iter().flat_map(|step| step.op.tensors.iter());
            let bytes = |tensor: &Tensor| tensor.bytes().0;
            tensors
                .filter(|tensor| tensor.role == Role::Parameter && tensor.name == name)
                .map(bytes)
                .max()
                .unwrap_or(0)
        };
        let embedding = find(&model.embedding, "token embedding");
        let head = find(&model.head, "output weight");
        let one = |name: &str| {
            let tensors = model.experts.iter().flat_map(|step| step.op.tensors.iter());
            let experts =
                |tensor: &Tensor| tensor.shape.dims().next().map_or(1, |dim| dim.1).max(1);
            tensors
                .filter(|tensor| tensor.name == name)
                .map(|tensor| tensor.bytes().0 / experts(tensor))
                .max()
                .unwrap_or(0)
        };
        Self {
            embedding,
            projection: find(block, "query, key and value weight"),
            output: find(block, "output weight"),
            up: find(block, "up weight"),
            down: find(block, "down weight"),
            head: if head == 0 { embedding } else { head },
            expert_up: one("expert up weights"),
            expert_down: one("expert down weights"),
        }
    }
}

/// The part of parameters that this rank's optimizer updates, in elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub elements: u64,
    pub is_matrix: bool,
}

impl Order<'_> {
    /// Takes parameters, the buffers of the data-parallel wrapper, and the optimizer's fp32
    /// parameters.
    pub(super) fn build(&mut self) {
        let recipe = self.run.recipe();
        self.player.enter("Parameters");
        let bytes = |elements: u64| Elements(elements).stored_as(recipe.parameter).0;
        for frozen in self.frozen() {
            self.player.take("frozen parameter", bytes(frozen.elements));
        }
        let parameters = self.parameters();
        let apart: Vec<Taken> = parameters
            .iter()
            .map(|parameter| self.player.take("parameter", bytes(parameter.elements)))
            .collect();
        if self.run.megatron.transformer_engine {
            self.player.enter("Transformer Engine");
            self.player.take(
                "workspace of products",
                self.run
                    .megatron
                    .transformer_engine_workspace
                    .0
                    .saturating_add(WORKSPACE_ALIGNMENT),
            );
        }
        let shares = self.job.layout().sharding.shards_optimizer();
        for is_expert in [false, true] {
            let own = || {
                parameters
                    .iter()
                    .zip(&apart)
                    .filter(move |(parameter, _)| parameter.is_expert == is_expert)
            };
            let elements = if shares {
                self.buffer_elements(own().map(|(parameter, _)| *parameter), is_expert)
            } else {
                own().map(|(parameter, _)| parameter.elements).sum()
            };
            self.player.enter("Buffers");
            self.player.take_if(shares, "parameters, one after the other", bytes(elements));
            self.player.take(
                "main gradients, one after the other",
                Elements(elements).stored_as(recipe.gradient).0,
            );
            if shares {
                let freed: Vec<Taken> = own().map(|(_, taken)| *taken).collect();
                self.player.free_all(freed.into_iter().rev());
            }
        }
        self.player.enter("Optimizer");
        if self.job.layout().offload.optimizer {
            return self.copied_to_host(&parameters);
        }
        let Some(master) = recipe.master else { return };
        for is_matrix in [true, false] {
            for share in
                self.shares(&parameters).into_iter().filter(|share| share.is_matrix == is_matrix)
            {
                let copy = self.player.take("copy of a parameter", bytes(share.elements));
                self.player.take("main parameter", Elements(share.elements).stored_as(master).0);
                self.player.free(copy);
            }
        }
    }

    /// The optimizer's step; its states are made in the first.
    pub(super) fn update(&mut self, is_first: bool) {
        let recipe = self.run.recipe();
        self.player.enter("Optimizer step");
        if self.job.layout().offload.optimizer {
            self.updated_by_host();
            return;
        }
        let shares = self.shares(&self.parameters());
        let spec = self.run.optimizer.spec();
        let bytes = |elements: u64, format: StateFormat| {
            Elements(elements).stored_as(format.dtype(recipe.optimizer_state)).0
        };
        // Main gradients in 16 bits are cast to the format of the main parameters.
        let casts = recipe.master.filter(|master| *master != recipe.gradient);
        let cast: Vec<Taken> = casts
            .into_iter()
            .flat_map(|master| {
                shares.iter().map(move |share| Elements(share.elements).stored_as(master).0)
            })
            .map(|bytes| self.player.take("gradient of a main parameter", bytes))
            .collect();
        for is_matrix in [true, false] {
            let group: Vec<Share> =
                shares.iter().filter(|share| share.is_matrix == is_matrix).copied().collect();
            for share in group.iter().filter(|_| is_first) {
                for state in spec.states {
                    self.player.take(state.label, bytes(share.elements, state.format));
                }
            }
            let mut step = StepTemporaries::new(recipe.optimizer_state, true);
            let updated: Vec<UpdatedParameter> =
                group.iter().map(|share| UpdatedParameter::vector(share.elements)).collect();
            (spec.temporaries)(self.run.optimizer_implementation, &updated, &mut step);
            let mut taken = Vec::new();
            for act in step.acts() {
                match *act {
                    StepAct::Taken { name, elements, format } => {
                        taken.push(self.player.take(name, bytes(elements, format)));
                    }
                    StepAct::Freed(number) => {
                        self.player.free(taken.get(number).copied().unwrap_or(Taken::NOTHING));
                    }
                }
            }
        }
        self.player.free_all(cast);
    }

    /// The parameters of the stage that learn, in the order of its modules.
    pub(super) fn parameters(&self) -> Vec<Parameter> {
        let frozen = self.is_frozen();
        self.all_parameters()
            .into_iter()
            .filter(|parameter| !frozen || parameter.is_of_adapter)
            .collect()
    }

    /// Parameters that do not learn: they stay where they were made.
    fn frozen(&self) -> Vec<Parameter> {
        let frozen = self.is_frozen();
        self.all_parameters()
            .into_iter()
            .filter(|parameter| frozen && !parameter.is_of_adapter)
            .collect()
    }

    /// All parameters of the stage, in the order of its modules.
    fn all_parameters(&self) -> Vec<Parameter> {
        let mut all = Vec::with_capacity(512);
        if self.stage.embeds() {
            collect(self.model.embedding.iter(), &mut all);
        }
        for place in self.stage.chunks.iter().flatten() {
            let steps = match place.kind {
                Kind::Dense => &self.model.dense,
                Kind::Experts => &self.model.experts,
            };
            let mut tensors: Vec<(u8, &Tensor)> = steps
                .iter()
                .flat_map(|step| {
                    step.op
                        .tensors
                        .iter()
                        .map(move |tensor| (module_place(step.op.name, tensor.name), tensor))
                })
                .filter(|(_, tensor)| tensor.role == Role::Parameter)
                .collect();
            tensors.sort_by_key(|(place, _)| *place);
            for (_, tensor) in tensors {
                push(tensor, &mut all);
            }
        }
        if self.stage.ends() {
            collect(self.model.head.iter(), &mut all);
            if self.job.model().tie_word_embeddings && !self.stage.embeds() {
                collect(self.model.embedding.iter(), &mut all);
            }
        }
        all
    }

    /// Elements of a buffer with its padding.
    fn buffer_elements(
        &self,
        parameters: impl DoubleEndedIterator<Item = Parameter>,
        is_expert: bool,
    ) -> u64 {
        self.buckets(parameters, is_expert).last().map_or(0, |bucket| bucket.end)
    }

    /// The buckets of a buffer, from the last parameter of the model to the first: so many elements
    /// each where gradients are sent while backward runs, but on later stages; a tied embedding has
    /// one of its own (`_ParamAndGradBuffer.__init__`).
    fn buckets(
        &self,
        parameters: impl DoubleEndedIterator<Item = Parameter>,
        is_expert: bool,
    ) -> Vec<Bucket> {
        let ranks = super::super::states::copies(self.job.layout(), is_expert).max(1);
        let cuts = self.run.overlap.gradients && self.stage.index == 0;
        let most = if cuts { BUCKET.max(BUCKET_OF_RANK.saturating_mul(ranks)) } else { u64::MAX };
        let alone = self.job.model().tie_word_embeddings && self.job.layout().p() > 1;
        let alignment = self.bucket_alignment(is_expert);
        let (mut buckets, mut open): (Vec<Bucket>, Bucket) = (Vec::new(), Bucket::default());
        let mut close = |open: &mut Bucket| {
            let end = open.end.next_multiple_of(alignment);
            let next = Bucket { begin: end, end, parameters: Vec::new() };
            buckets.push(Bucket { end, ..std::mem::replace(open, next) });
        };
        for parameter in parameters.rev() {
            let own = alone && parameter.is_embedding;
            if own && !open.parameters.is_empty() {
                close(&mut open);
            }
            let begin = open.end.next_multiple_of(PARAMETER_ALIGNMENT);
            open.end = begin.saturating_add(parameter.elements);
            open.parameters.push((begin, parameter));
            if own || open.end.saturating_sub(open.begin) >= most {
                close(&mut open);
            }
        }
        if !open.parameters.is_empty() {
            close(&mut open);
        }
        buckets
    }

    /// A bucket's end is a multiple of the ranks that share it and of 128 elements.
    fn bucket_alignment(&self, is_expert: bool) -> u64 {
        let ranks = super::super::states::copies(self.job.layout(), is_expert).max(1);
        let common = (1..=BUCKET_ALIGNMENT).rev().find(|divisor| {
            ranks.is_multiple_of(*divisor) && BUCKET_ALIGNMENT.is_multiple_of(*divisor)
        });
        ranks.saturating_mul(BUCKET_ALIGNMENT / common.unwrap_or(1))
    }

    /// The place of this rank among those with the same parameters: ranks are counted along tensor,
    /// context, then data-parallel ones, those of experts along expert tensor and expert ranks
    /// (`RankGenerator`, order `tp-cp-ep-dp-pp`).
    const fn place_among_copies(&self, is_expert: bool) -> u64 {
        let layout = self.job.layout();
        let inner = if is_expert {
            layout.etp().saturating_mul(layout.ep())
        } else {
            layout.t().saturating_mul(layout.cp())
        };
        match self.rank.checked_div(inner) {
            Some(place) => place,
            None => 0,
        }
    }

    /// The parts of parameters that this rank updates, in the order of their buffers; whole
    /// parameters where ranks share nothing.
    pub(super) fn shares(&self, parameters: &[Parameter]) -> Vec<Share> {
        if !self.job.layout().sharding.shards_optimizer() {
            return parameters
                .iter()
                .map(|one| Share { elements: one.elements, is_matrix: one.is_matrix })
                .collect();
        }
        let mut shares = Vec::with_capacity(parameters.len());
        for is_expert in [false, true] {
            let own =
                parameters.iter().copied().filter(|parameter| parameter.is_expert == is_expert);
            let ranks = super::super::states::copies(self.job.layout(), is_expert).max(1);
            let place = self.place_among_copies(is_expert) % ranks;
            for bucket in self.buckets(own, is_expert) {
                let part = bucket.end.saturating_sub(bucket.begin) / ranks;
                let from = bucket.begin.saturating_add(part.saturating_mul(place));
                for (begin, parameter) in bucket.parameters {
                    let end =
                        begin.saturating_add(parameter.elements).min(from.saturating_add(part));
                    let elements = end.saturating_sub(begin.max(from));
                    if elements > 0 {
                        shares.push(Share { elements, is_matrix: parameter.is_matrix });
                    }
                }
            }
        }
        shares
    }
}

fn collect<'a>(steps: impl Iterator<Item = &'a RankOp>, all: &mut Vec<Parameter>) {
    let tensors = steps.flat_map(|step| step.op.tensors.iter());
    tensors.filter(|tensor| tensor.role == Role::Parameter).for_each(|tensor| push(tensor, all));
}

/// Experts of a rank are parameters of their own.
fn push(tensor: &Tensor, all: &mut Vec<Parameter>) {
    let dims: Vec<u64> = tensor.shape.dims().map(|dim| dim.1).collect();
    let is_expert = tensor.shape.is_of_experts();
    let (count, own) = match dims.split_first() {
        Some((experts, own)) if is_expert => (*experts, own),
        _ => (1, dims.as_slice()),
    };
    let is_embedding = tensor.name == "token embedding";
    let elements = own.iter().copied().fold(1, u64::saturating_mul);
    let (is_matrix, is_of_adapter) = (own.len() > 1, is_of_adapter(tensor));
    all.extend((0..count).map(|_| Parameter {
        elements,
        is_matrix,
        is_expert,
        is_embedding,
        is_of_adapter,
    }));
}

/// The place of a parameter in a block's modules: attention's output projection is made before the
/// joint one (`Attention.__init__`).
fn module_place(op: &str, tensor: &str) -> u8 {
    let is_norm = tensor.starts_with("norm");
    match op {
        "Output projection" | "Adapter of the output projection" => 1,
        "Adapter of queries, keys and values" => 2,
        "Query and key norm" => 3,
        _ if op.starts_with("Input norm") => {
            if is_norm {
                0
            } else {
                2
            }
        }
        _ if is_norm => 4,
        _ => 5,
    }
}
