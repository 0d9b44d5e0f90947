//! The part that proposes tokens ahead of a served model: its layers, weights and cache.
//!
//! A draft model is a job of its own with the same requests. The model's own layer for further
//! tokens (MTP) is counted as one more layer like its last one, and an EAGLE head as one decoder
//! layer of its sizes; both begin with a product that joins vectors as wide as the stream.

use std::ops::Range;
use std::rc::Rc;

use super::ledger::{Certainty, LineItem, MemoryKind, TensorLine};
use super::stage::{self, Parameters, Scope, Stage};
use super::states;
use crate::config::{
    Draft, DraftMethod, InHostMemory, Job, ModelConfig, ParallelLayout, Run, ServingRun,
};
use crate::ops::{self, Dim, OpList, Shape};
use crate::units::{Bytes, DType, Elements};

/// Label of the weights that propose tokens.
pub const DRAFT_WEIGHTS: &str = "Draft weights";

/// Label of the cache of the part that proposes tokens.
pub const DRAFT_CACHE: &str = "Draft KV cache";

/// Label of the logits of proposed tokens.
pub const DRAFT_LOGITS: &str = "Logits of drafted tokens";

/// A job of what proposes, with the layers of it that run.
pub(super) struct Drafted<'a> {
    pub draft: &'a Draft,
    /// The draft model, or the model that the layer is like, with the same requests.
    pub job: Job,
    /// Its layers, counted from 0.
    pub layers: Range<u64>,
}

/// A matrix or vector of a head beside its layer.
pub(super) struct Beside {
    pub name: &'static str,
    pub shape: Shape,
    pub dtype: DType,
    /// Numbers on a tensor rank.
    pub numbers: u64,
    /// True if every token is multiplied with it.
    pub multiplies: bool,
}

impl<'a> Drafted<'a> {
    /// The draft of a serving job; `None` without one.
    pub fn of(job: &Job, run: &'a ServingRun) -> Option<Self> {
        let draft = run.draft.as_ref()?;
        let layout = ParallelLayout {
            pipeline_model_parallel_size: std::num::NonZeroU64::MIN,
            ..*job.layout()
        };
        let served = ServingRun {
            draft: None,
            adapter_slots: 0,
            // Engines keep a draft on the device.
            in_host_memory: InHostMemory::NOTHING,
            quantization: draft.format,
            activation_dtype: run.activation_dtype,
            ..run.clone()
        };
        let base = job.with_layout(layout).with_run(|run| *run = Run::Serving(served));
        let layers = base.model().num_hidden_layers;
        let (job, layers) = match &draft.model {
            None => (base, layers.saturating_sub(1)..layers),
            Some(model) => {
                let job = base.with_model(ModelConfig::clone(model));
                let layers = job.model().num_hidden_layers;
                (job, 0..layers)
            }
        };
        Some(Self { draft, job, layers })
    }

    /// The stage that holds its layers, with the ends that are its own.
    fn stage(&self) -> Stage {
        let whole = self.draft.method == DraftMethod::Model;
        Stage {
            embedding: whole,
            head: whole || self.draft.method == DraftMethod::Eagle3,
            ..self.stage_with_ends()
        }
    }

    /// The stage that holds its layers and both ends, whoever they belong to.
    pub fn stage_with_ends(&self) -> Stage {
        stage::of_blocks(&self.job, self.layers.clone())
    }

    /// Keeps the layers that run.
    pub fn only(&self, mut list: OpList) -> OpList {
        let model = self.job.model();
        if self.draft.model.is_none() {
            let last = model.kind_of(self.layers.start);
            list.kinds.retain(|kind| kind.of == last);
            list.kinds.iter_mut().for_each(|kind| kind.layers = 1);
        }
        list
    }

    /// Matrices and vectors of a head beside its layer (vLLM's `llama_eagle.py`, `llama_eagle3.py`
    /// and `deepseek_mtp.py`): the product that joins its inputs is whole on every tensor rank.
    pub fn beside(&self) -> Vec<Beside> {
        let (model, t) = (self.job.model(), self.job.layout().t());
        let (hidden, joined) = (model.hidden_size, self.draft.method.joined());
        let dtype = DType::Bf16;
        let vector = |name, count: u64| Beside {
            name,
            shape: Shape::of([Dim("norms", count), Dim("hidden_size", hidden)]),
            dtype,
            numbers: count.saturating_mul(hidden),
            multiplies: false,
        };
        let inputs = joined.saturating_mul(hidden);
        let joins = || Beside {
            name: "joining weight",
            shape: Shape::of([Dim("hidden_size", hidden), Dim("joined inputs", inputs)]),
            dtype,
            numbers: inputs.saturating_mul(hidden),
            multiplies: true,
        };
        match self.draft.method {
            DraftMethod::Model => Vec::new(),
            // The norms of both inputs, and the one before the model's head.
            DraftMethod::Mtp => vec![joins(), vector("norms of a further layer", 3)],
            DraftMethod::Eagle => vec![joins()],
            DraftMethod::Eagle3 => {
                // Attention reads the embedded token beside the stream.
                let heads = model.num_attention_heads + 2 * model.num_key_value_heads;
                let width = heads.saturating_mul(model.head_dim);
                vec![
                    joins(),
                    vector("norm of hidden states", 1),
                    Beside {
                        name: "queries, keys and values of the token",
                        shape: Shape::of([Dim("projections", width), Dim("hidden_size", hidden)]),
                        dtype,
                        numbers: width.div_ceil(t).saturating_mul(hidden),
                        multiplies: true,
                    },
                    Beside {
                        name: "tokens of the draft's vocabulary",
                        shape: Shape::of([Dim("draft_vocab_size", model.vocab_size)]),
                        dtype: DType::Int64,
                        numbers: model.vocab_size,
                        multiplies: false,
                    },
                ]
            }
        }
    }

    /// True if every block of its cache has as many bytes as any other.
    pub fn cache_is_alike(&self) -> bool {
        let (model, tokens) = (self.job.model(), self.job.seq_length());
        model.cache.is_empty()
            && self.layers.clone().all(|layer| model.visible(layer, tokens) == tokens)
    }
}

/// The weights that propose tokens, on a rank of the stage that holds the head.
pub(super) fn weights(scope: &Scope, run: &ServingRun) -> Option<LineItem> {
    let drafted = Drafted::of(scope.job, run).filter(|_| scope.stage.head)?;
    let list = drafted.only(ops::without_products(&ops::lowering(&drafted.job)));
    let own = Scope {
        job: &drafted.job,
        list: &list,
        stage: drafted.stage(),
        parameters: Rc::new(Parameters::of(&drafted.job, &list)),
        detail: scope.detail,
    };
    let lines = states::lines(&own);
    let mut bytes: Bytes = lines.iter().map(|line| line.bytes).sum();
    let mut tensors: Vec<TensorLine> = lines.into_iter().flat_map(|line| line.tensors).collect();
    for one in drafted.beside() {
        let size = Elements(one.numbers).stored_as(one.dtype);
        bytes += size;
        if scope.detail {
            let Beside { name, shape, dtype, .. } = one;
            tensors.push(TensorLine {
                op: DRAFT_WEIGHTS,
                name,
                shape,
                dtype,
                count: 1,
                bytes: size,
            });
        }
    }
    let (note, certainty) = match drafted.draft.method {
        DraftMethod::Model => {
            ("Every parameter of the draft model on this rank, in its format.", Certainty::Exact)
        }
        DraftMethod::Mtp => (
            "A layer like the model's last one and the product before it; embedding and head are the model's. Not every model is published with such a layer.",
            Certainty::Modelled,
        ),
        DraftMethod::Eagle => (
            "A decoder layer of the model's sizes and the product before it, in 16 bits; embedding and head are the model's. A published head may have other sizes.",
            Certainty::Assumed,
        ),
        DraftMethod::Eagle3 => (
            "A decoder layer of the model's sizes, the products before it and a head for 32,000 tokens, in 16 bits; the embedding is the model's. A published head may have other sizes.",
            Certainty::Assumed,
        ),
    };
    let (kind, source) = (MemoryKind::Parameter, run.engine.speculation.source);
    Some(LineItem { kind, label: DRAFT_WEIGHTS, bytes, tensors, note, source, certainty })
}

/// The cache of what proposes: every sequence has its keys and values there too.
pub(super) fn cache(scope: &Scope, run: &ServingRun) -> Option<LineItem> {
    let drafted = Drafted::of(scope.job, run).filter(|_| scope.stage.head)?;
    let (t, cache) = (
        drafted.job.layout().t(),
        ops::cache(&ops::lowering(&drafted.job), drafted.layers.clone()),
    );
    let held = cache.op.tensors.iter().zip(&cache.layers).map(|(tensor, layers)| TensorLine {
        op: cache.op.name,
        name: tensor.name,
        shape: tensor.shape,
        dtype: tensor.dtype,
        count: *layers,
        bytes: tensor.bytes_per_rank(t, false) * *layers,
    });
    let (bytes, tensors) = scope.sum(held);
    let note = "Keys and values of the draft's own layers, for every sequence and token.";
    let (kind, source) = (MemoryKind::KvCache, run.engine.speculation.source);
    let certainty = Certainty::Modelled;
    Some(LineItem { kind, label: DRAFT_CACHE, bytes, tensors, note, source, certainty })
}

/// Logits of proposed tokens, of which each sequence has as many beside its last one.
pub(super) fn logits(run: &ServingRun, of_last: Bytes) -> Option<LineItem> {
    let draft = run.draft.as_ref()?;
    Some(LineItem {
        kind: MemoryKind::Temporary,
        label: DRAFT_LOGITS,
        bytes: of_last * draft.tokens,
        tensors: Vec::new(),
        note: "The model scores every drafted token of a sequence in the step that checks it.",
        source: run.engine.speculation.source,
        certainty: Certainty::Modelled,
    })
}
