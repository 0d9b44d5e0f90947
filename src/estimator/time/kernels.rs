//! Seconds of an operation's kernels and messages, from a stack's list or as its modules were
//! played.

use super::block::PhaseTime;
use super::machine::Machine;
use crate::config::{ProductFormat, TrainingRun};
use crate::ops::megatron::{Module, RankOp};
use crate::ops::work::{Behind, Exchange, Operands, PassWork, ProcessGroup, Product, Work};
use crate::ops::{Played, Role};
use crate::stacks::SelectiveRecompute;
use crate::units::to_f64;

/// An operation with its times.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::estimator) struct Timed {
    pub forward: PhaseTime,
    pub backward: PhaseTime,
    /// True if selective recomputation runs the operation's forward again; full recomputation
    /// always does.
    pub selective: bool,
    /// Parameters of one rank: those that are no expert's, and those of its experts.
    pub parameters: [f64; 2],
    /// Elements of its first parameter.
    pub first: f64,
}

/// Ranks that share a layer, and the machine they run on.
pub(super) struct Ranks<'a> {
    pub machine: &'a Machine,
    pub run: &'a TrainingRun,
    pub t: f64,
    pub cp: f64,
    pub ep: f64,
    pub etp: f64,
}

/// The costs of what selective recomputation keeps, attention's kernel and every second product
/// from the first on, and those of all else of forward.
fn without_kept(costs: Vec<PassWork>, products: &mut u64) -> (Vec<PassWork>, Vec<PassWork>) {
    costs.into_iter().partition(|cost| match cost.work {
        _ if cost.backward => true,
        Work::Product(product) if product.of == Operands::Weight => {
            *products += 1;
            !products.is_multiple_of(2)
        }
        Work::Core(_) => true,
        Work::Product(_) | Work::Stream { .. } | Work::Exchange(_) => false,
    })
}

impl Ranks<'_> {
    /// An operation of a stack's list.
    pub fn timed(&self, step: &RankOp) -> Timed {
        let is_core = step.module == Module::CoreAttention;
        let [forward, backward] = self.phases(&step.costs, is_core);
        let selective = step.module.is_among(&self.run.megatron.recompute_modules);
        let mut timed = Timed { forward, backward, selective, ..Timed::default() };
        for tensor in step.op.tensors.iter().filter(|tensor| tensor.role == Role::Parameter) {
            let count = to_f64(tensor.shape.elements().0);
            let [dense, experts] = &mut timed.parameters;
            *(if tensor.shape.is_of_experts() { experts } else { dense }) += count;
            timed.first = if timed.first > 0.0 { timed.first } else { count };
        }
        timed
    }

    /// The operations of a part that was played, `share` of them; every rank that holds the part
    /// has the same of its experts.
    pub fn played(&self, part: &Played, share: f64, is_head: bool) -> Vec<Timed> {
        let parameters = [to_f64(part.parameters) * share, 0.0];
        let mut all = vec![Timed { parameters, first: to_f64(part.first), ..Timed::default() }];
        let mut products = 0;
        for (name, costs) in &part.operations {
            // Scores of FlashAttention are never kept, so that nothing brings them back.
            let (is_core, selective) =
                (name.starts_with("Attention core"), *name == "Attention core");
            let wide = is_head || *name == "Router";
            let costs: Vec<PassWork> = costs
                .iter()
                .flat_map(|cost| self.as_cast(*cost, wide).into_iter().flatten())
                .collect();
            let (kept, again) = match self.run.stack.selective {
                SelectiveRecompute::AttentionCore => (costs, Vec::new()),
                SelectiveRecompute::AllButSecondProducts => without_kept(costs, &mut products),
            };
            for (costs, selective) in [(kept, selective), (again, true)] {
                let [forward, backward] =
                    self.phases(&costs, is_core).map(|phase| phase.times(share));
                all.push(Timed { forward, backward, selective, ..Timed::default() });
            }
        }
        all
    }

    /// A product as its format has it, with the cast of its rows before it; head and router are
    /// multiplied in 16 bits.
    fn as_cast(&self, cost: PassWork, wide: bool) -> [Option<PassWork>; 2] {
        let Work::Product(product) = cost.work else { return [None, Some(cost)] };
        let product = Product { narrow: product.narrow && !wide, ..product };
        let cast = match self.run.products {
            ProductFormat::Narrow(format) if product.narrow && product.of == Operands::Weight => {
                Some(PassWork {
                    work: Work::Stream { bytes: product.cast(format), kernels: 1 },
                    ..cost
                })
            }
            ProductFormat::Narrow(_) | ProductFormat::Activations => None,
        };
        [cast, Some(PassWork { work: Work::Product(product), ..cost })]
    }

    /// Forward and backward of an operation; in attention's core, softmax and dropout of scores
    /// count as attention.
    fn phases(&self, costs: &[PassWork], is_core: bool) -> [PhaseTime; 2] {
        [false, true].map(|backward| {
            let works =
                || costs.iter().filter(move |cost| cost.backward == backward).map(|cost| cost.work);
            let mut phase = PhaseTime::default();
            for work in works() {
                match work {
                    Work::Product(product) => {
                        let attends = product.of == Operands::Activations;
                        *(if attends { &mut phase.attention } else { &mut phase.products }) +=
                            self.machine.product(&product);
                    }
                    Work::Core(core) => phase.attention += self.machine.core(&core, backward),
                    Work::Stream { bytes, kernels } => {
                        *(if is_core { &mut phase.attention } else { &mut phase.streams }) +=
                            self.machine.stream(bytes, kernels);
                    }
                    Work::Exchange(_) => {}
                }
            }
            self.exchange(works(), &mut phase);
            phase
        })
    }

    /// Adds what messages take beyond what hides them: products, of which backward's second is the
    /// weight's gradient, and attention.
    fn exchange(&self, works: impl Iterator<Item = Work>, phase: &mut PhaseTime) {
        let (mut products, mut attention) = (phase.products, phase.attention);
        for work in works {
            let Work::Exchange(exchange) = work else { continue };
            let seconds = self.seconds(&exchange);
            let exposed = match exchange.behind {
                Behind::Nothing => seconds,
                Behind::WeightGradient => self.hide(seconds, &mut products),
                // The first piece has nothing to hide behind.
                Behind::Products => self.hide(seconds, &mut products).max(seconds / self.t),
                Behind::Attention => self.hide(seconds, &mut attention),
            };
            *(match exchange.group {
                ProcessGroup::Tensor => &mut phase.tensor,
                ProcessGroup::Context => &mut phase.context,
                ProcessGroup::Expert | ProcessGroup::ExpertTensor => &mut phase.experts,
            }) += exposed;
        }
    }

    /// Seconds that a message adds where it runs beside work of so many seconds, which it uses up.
    fn hide(&self, seconds: f64, work: &mut f64) -> f64 {
        let hidden = seconds.min(*work);
        *work -= hidden;
        seconds - hidden + hidden * self.machine.beside()
    }

    /// Ranks are numbered tensor first, then context, then data; experts are shared out over the
    /// latter two.
    fn seconds(&self, exchange: &Exchange) -> f64 {
        let (ranks, stride) = match exchange.group {
            ProcessGroup::Tensor => (self.t, 1.0),
            ProcessGroup::Context => (self.cp, self.t),
            ProcessGroup::Expert => (self.ep, self.etp),
            ProcessGroup::ExpertTensor => (self.etp, 1.0),
        };
        self.machine.links.ring(ranks, stride).seconds(exchange.collective, to_f64(exchange.bytes))
    }
}
