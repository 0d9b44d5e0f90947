//! A mixture of experts: `MoELayer` with its router, token dispatcher, `TEGroupedMLP` or
//! `SequentialMLP`, and shared experts.

use super::kernels::{Activation, Names};
use super::layers::{Linear, joint};
use super::rank::{Rank, Rows, count, step, tensor};
use super::{Module, RankOp};
use crate::config::TokenDispatcher;
use crate::ops::tensor::{Dim, EXPERTS_OF_RANK, Op, Role, Tensor};
use crate::ops::work::{Behind, Collective, Exchange, PassWork, ProcessGroup, Work};
use crate::units::DType;

const ROUTER: Names = Names("Router", Module::Moe, "router weight", Some("router bias"));
const UP: Names = Names("Experts, up", Module::Moe, "expert up weights", Some("expert up biases"));
const DOWN: Names =
    Names("Experts, down", Module::Moe, "expert down weights", Some("expert down biases"));

/// The routed part on this rank.
struct Routed {
    /// Experts this rank holds.
    experts: Dim,
    /// Tokens that go through them, a token once per expert.
    tokens: Rows,
    /// Between up and down of one expert.
    activation: Activation,
}

impl Rank<'_> {
    /// Norm and router: an fp32 softmax for the choice, another for the balancing loss, and the map
    /// of choices.
    pub fn router(&self, ops: &[Op]) -> Vec<RankOp> {
        let Some(scores) = joint(ops, "Router") else { return Vec::new() };
        let norm = self.norm(
            "Feed-forward norm",
            [self.hidden("attention residual"), self.hidden("normed attention residual")],
        );
        let experts = scores.columns;
        let saved = |name, dtype| {
            let tensor = tensor(name, Role::Saved, [self.local_s(), self.b(), experts], dtype);
            self.droppable(tensor, Module::Moe)
        };
        let router = self.linear(&ROUTER, &scores, self.local()).with([
            saved("router probabilities", DType::Fp32),
            saved("balancing probabilities", DType::Fp32),
            saved("routing map", DType::Mask),
        ]);
        // Scores in fp32: softmax, choice, balancing loss; a few small kernels.
        let bytes =
            count(self.local()).saturating_mul(experts.1).saturating_mul(4).saturating_mul(6);
        vec![
            norm,
            router
                .with([self.gradient_of_input(self.local(), self.h())])
                .streams([bytes; 2], [8, 8]),
        ]
    }

    /// Tokens to the experts, the experts, and back.
    pub fn routed(&self, ops: &[Op]) -> Vec<RankOp> {
        let Some((up, down)) = joint(ops, "Experts up").zip(joint(ops, "Experts down")) else {
            return Vec::new();
        };
        let routed = self.share(&up, &down);
        let mut steps = vec![self.dispatch(&routed)];
        steps.extend(self.experts(&routed, [up, down]));
        steps.push(self.moved(&routed, step("Token combination", Module::Moe)));
        steps
    }

    /// Tokens are dealt out evenly, or the busiest rank gets more, at most all of its group's; with
    /// padding every expert gets its share rounded up (`get_capacity`), whatever it is sent. A rank
    /// that holds all experts gets all tokens in any case.
    fn share(&self, up: &Linear, down: &Linear) -> Routed {
        let (layout, options, experts) =
            (self.layout, self.options(), up.experts.map_or(1, |experts| experts.1));
        let chosen = count(self.local())
            .saturating_mul(self.model.moe.as_ref().map_or(0, |moe| moe.num_experts_per_tok));
        let sent = if options.moe_pad_expert_input_to_capacity {
            chosen.div_ceil(experts.max(1)).saturating_mul(experts)
        } else {
            let most = layout.ep().saturating_mul(100);
            chosen.saturating_mul(options.moe_load_percent.clamp(100, most.max(100))).div_ceil(100)
        };
        Routed {
            experts: Dim(EXPERTS_OF_RANK, experts.div_ceil(layout.ep())),
            tokens: [
                Dim("tokens of this rank's experts", sent.saturating_mul(layout.etp())),
                Dim("", 1),
            ],
            activation: Activation::between(up, down, layout.etp()),
        }
    }

    /// Tokens on their way to the experts: only where each came from is kept.
    fn dispatch(&self, routed: &Routed) -> RankOp {
        let order = tensor("token order", Role::Saved, routed.tokens, DType::Int64);
        let step = step("Token dispatch", Module::Moe).with([self.droppable(order, Module::Moe)]);
        self.moved(routed, step.with(self.picked_from()))
    }

    /// The transposed probabilities and map that `masked_select` keeps, where PyTorch's operators
    /// permute tokens behind the router.
    fn picked_from(&self) -> Vec<Tensor> {
        let options = self.options();
        let experts = self.model.moe.as_ref().map_or(0, |moe| moe.num_experts);
        let gathers = options.moe_token_dispatcher == TokenDispatcher::AllGather;
        if options.moe_permute_fusion || gathers {
            return Vec::new();
        }
        let kept = |name, dtype| {
            let dims = [Dim("experts", experts), self.local_s(), self.b()];
            self.droppable(tensor(name, Role::Saved, dims, dtype), Module::Moe)
        };
        vec![
            kept("transposed probabilities", DType::Fp32),
            kept("transposed routing map", DType::Mask),
        ]
    }

    /// Tokens are sorted by rank and, where a rank has several experts, by expert: each reads and
    /// writes them. Between the two they travel. Backward does the same the other way.
    fn moved(&self, routed: &Routed, step: RankOp) -> RankOp {
        let (ep, etp) = (self.layout.ep(), self.layout.etp());
        let bytes = self.bytes(count(routed.tokens).saturating_mul(self.h().1));
        let sorts = if routed.experts.1 > 1 && ep > 1 { 2 } else { 1 };
        let each = bytes.saturating_mul(2).saturating_mul(sorts);
        let of_group = Dim(
            "tokens of the expert group",
            count(self.local()).saturating_mul(ep).saturating_mul(etp),
        );
        // Gradients that leave or reach the dispatcher beside the experts' own copy.
        let (among_experts, travelling) = match self.options().moe_token_dispatcher {
            TokenDispatcher::AllToAll => ((Collective::AllToAll, bytes / etp), routed.tokens),
            TokenDispatcher::AllGather => (
                (Collective::AllGather, self.hidden_bytes().saturating_mul(ep)),
                [of_group, Dim("", 1)],
            ),
        };
        let step = step.with([
            self.alive("gradient at the experts", routed.tokens, self.h()),
            self.alive("gradient on its way", travelling, self.h()),
        ]);
        let messages = [false, true].into_iter().flat_map(|backward| {
            let message = |group, (collective, bytes)| PassWork {
                backward,
                work: Work::Exchange(Exchange {
                    collective,
                    group,
                    bytes,
                    behind: Behind::Nothing,
                }),
            };
            let to_experts = (ep > 1).then(|| message(ProcessGroup::Expert, among_experts));
            to_experts.into_iter().chain(
                (etp > 1)
                    .then(|| message(ProcessGroup::ExpertTensor, (Collective::AllGather, bytes))),
            )
        });
        step.streams([each; 2], [sorts + 2; 2]).sends(messages)
    }

    fn experts(&self, routed: &Routed, whole: [Linear; 2]) -> Vec<RankOp> {
        let Routed { experts, tokens, activation } = *routed;
        let Activation { input, output } = activation;
        let [up, down] = whole.map(|layer| {
            let is_biased = layer.is_biased || self.model.mlp_bias;
            Linear { experts: Some(experts), is_biased, ..layer }
        });
        let up_input = self.droppable(self.saved("expert input", tokens, up.depth), Module::Moe);
        let activated = |name| {
            let with_layer = self.droppable(self.saved(name, tokens, output), Module::Moe);
            self.droppable(with_layer, Module::MoeActivation)
        };
        // The activation function multiplies by the router's probability too; without the fused
        // kernel its output is kept for that.
        let weighted = (!self.options().bias_activation_fusion || !activation.is_gated())
            .then(|| activated("activation output before weighting"));
        let (up, down) = (Linear { columns: input, ..up }, Linear { depth: output, ..down });
        let down_input = activated("expert down input");
        let mut steps = vec![self.of_experts(&UP, &up, (tokens, up_input))];
        steps.extend(self.beside_experts(&UP, &up, (tokens, up_input)));
        steps.push(
            self.activation("Experts, activation function", Module::Moe, tokens, &activation)
                .with(weighted),
        );
        steps.push(self.of_experts(&DOWN, &down, (tokens, down_input)));
        steps.extend(self.beside_experts(&DOWN, &down, (tokens, down_input)));
        steps
    }
}
