//! Parts of a served model that the host's memory cannot hold, or an engine cannot leave there.

use thiserror::Error;

use crate::config::{Engine, Job, Run};
use crate::engines::{EngineSpec, OnHost};
use crate::estimator::placed::on_one_host;
use crate::sources::{self, Source};
use crate::units::Bytes;

/// The reason why parts of a model cannot lie in the host's memory; its text is one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum HostRefused {
    /// The engine leaves nothing to the processor.
    #[error("{engine} leaves no layers, experts or cache to the processor; {others} does")]
    Computed {
        /// The engine.
        engine: &'static str,
        /// An engine that does.
        others: &'static str,
    },
    /// The engine streams no weights.
    #[error("{engine} reads no weights over the link in every step; {others} does")]
    Streamed {
        /// The engine.
        engine: &'static str,
        /// An engine that does.
        others: &'static str,
    },
    /// There is one memory.
    #[error(
        "this accelerator shares one memory with its processor, so that nothing is saved by a part of the model on the host"
    )]
    OneMemory,
    /// The host's memory is too small.
    #[error("{} in the host's memory are more than the {} that it has", .0.gib(), .1.gib())]
    TooSmall(Needed, Needed),
}

/// An amount of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed(pub Bytes);

impl Needed {
    fn gib(self) -> String {
        format!("{:.1} GiB", self.0.as_f64() / crate::units::to_f64(Bytes::GIB))
    }
}

impl HostRefused {
    /// Returns the source of the rule.
    pub const fn source(&self) -> Source {
        match self {
            Self::Computed { .. } => sources::LLAMA_CPP_HOST,
            Self::Streamed { .. } => sources::VLLM_HOST,
            Self::OneMemory | Self::TooSmall(..) => sources::ARITHMETIC,
        }
    }
}

/// The name of the first engine with such a rule.
fn other(does: fn(&EngineSpec) -> bool) -> &'static str {
    Engine::SPECS.into_iter().find(|spec| does(spec)).map_or("no engine", |spec| spec.label)
}

/// The reason why what is asked for cannot lie in the host's memory.
pub(super) fn refused(job: &Job) -> Option<HostRefused> {
    let Run::Serving(run) = job.run() else { return None };
    let (asked, spec) = (&run.in_host_memory, run.engine.spec());
    let is_computed = asked.is_computed_there(job.model().num_hidden_layers);
    let is_streamed = asked.weights > Bytes::ZERO;
    if !is_computed && !is_streamed {
        return None;
    }
    let computes = |spec: &EngineSpec| matches!(spec.host, OnHost::Computed { .. });
    let streams = |spec: &EngineSpec| matches!(spec.host, OnHost::Streamed { .. });
    if is_computed && !computes(spec) {
        return Some(HostRefused::Computed { engine: spec.label, others: other(computes) });
    }
    if is_streamed && !streams(spec) {
        return Some(HostRefused::Streamed { engine: spec.label, others: other(streams) });
    }
    let host = &job.cluster().host;
    if host.link.is_none() {
        return Some(HostRefused::OneMemory);
    }
    let needed = on_one_host(job);
    let memory = host.memory.filter(|memory| needed > *memory)?;
    Some(HostRefused::TooSmall(Needed(needed), Needed(memory)))
}
