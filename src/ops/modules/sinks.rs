//! Attention sinks.

use super::Build;
use crate::config::{AttentionKernel, SinkStyle};
use crate::ops::tape::{Form, Param};
use crate::ops::tensor::Dim;
use crate::sources;

/// One learned score per head that every query sees beside its keys (gpt-oss).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sinks {
    pub param: Param,
    pub style: SinkStyle,
    /// `[b, a, s, 1]` and `[b, a, s, s + 1]`.
    pub column: Form,
    pub scores: Form,
}

impl Sinks {
    /// The kernel of the flash profile takes no sinks, so that no gradient reaches them.
    pub fn new(build: &Build<'_>) -> Self {
        let (with, tape) = (build.with, build.tape);
        let heads = with.own_heads();
        tape.at("Attention core", sources::PYTORCH_AUTOGRAD);
        let param = build.vector("attention sinks", heads);
        if with.attention == AttentionKernel::Flash {
            tape.idle(param);
        }
        let form = |columns| tape.form([with.b(), heads, with.s(), Dim("keys and sink", columns)]);
        let style = build.model().family.modules().sinks;
        Self { param, style, column: form(1), scores: form(with.context_length.saturating_add(1)) }
    }
}
