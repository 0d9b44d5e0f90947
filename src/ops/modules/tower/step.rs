//! One step of a tower or of a projector over images.

use super::Laid;
use super::run::{At, Sight};
use super::steps::added;
use crate::config::{HiddenAct, TowerSize, TowerStep};
use crate::ops::modules::mlp::Activation;
use crate::ops::tape::{Order, Tape, Var};

impl Sight {
    /// The norm of each row.
    fn normed<'t>(
        &self,
        tape: &'t Tape,
        part: &Laid,
        layer: u8,
        (x, rows): (Var<'t>, u64),
    ) -> Var<'t> {
        self.norm(tape, part, (layer, rows)).map_or_else(|| x.clone(), |norm| norm.run(&x))
    }

    /// The projector's function.
    fn with_function<'t>(&self, x: &Var<'t>) -> Var<'t> {
        let function = self.tower.function(TowerSize::OutAct);
        function.map_or_else(|| x.clone(), |of| Activation::of(of).run(x))
    }

    /// All but the first token, which is no patch, where the tower cuts it.
    fn without_first<'t>(&self, tape: &'t Tape, At { x, rows, width }: At<'t>) -> At<'t> {
        if self.tower.sizes.get(TowerSize::Cut) == 0 {
            return At { x, rows, width };
        }
        let rows = rows.saturating_sub(1);
        At { x: x.slice(self.form(tape, rows, width)).ordered(Order::Spread), rows, width }
    }

    /// One step, and the tensors that it returns beside its output.
    pub(super) fn step<'t>(
        &self,
        tape: &'t Tape,
        (part, behind): (&Laid, Option<&Laid>),
        (step, at): (TowerStep, At<'t>),
    ) -> (At<'t>, Option<Var<'t>>) {
        let At { x, rows, width } = at;
        let on = |x: Var<'t>| At { x, rows, width };
        let next = match step {
            TowerStep::Patches(layer) => self.patches(tape, part, layer, x),
            TowerStep::ClassToken(layer) => self.with_class_token(tape, part, layer, on(x)),
            TowerStep::Positions(layer) => on(self.with_positions(tape, part, layer, (x, rows))),
            TowerStep::Norm(layer) => on(self.normed(tape, part, layer, (x, rows))),
            TowerStep::NormOfFirst(layer) => {
                on(self.with_first_normed(tape, (part, layer), (x, width)))
            }
            TowerStep::Attention { norm, matrices, scaled } => {
                let (x, weights) = self.attend(tape, part, (norm, matrices, scaled), (x, rows));
                return (on(x), weights);
            }
            TowerStep::Turned { norm, matrices } => {
                let (x, weights) = self.attend_turned(tape, part, (norm, matrices), (x, rows));
                return (on(x), weights);
            }
            TowerStep::Joined(layer) => self.joined_patches(tape, part, layer, x),
            TowerStep::Placed(layer) => on(self.placed(tape, part, layer, (x, rows))),
            TowerStep::Added(layer) => on(added(tape, part, layer, x)),
            TowerStep::Shuffled => self.shuffled(tape, on(x)),
            TowerStep::Unfolded => self.unfolded(on(x)),
            TowerStep::Packed { layer, .. } => self.packed_patches(tape, part, layer, x),
            TowerStep::Joint { norm, matrices } => {
                on(self.attend_jointly(tape, part, (norm, matrices), (x, rows)))
            }
            TowerStep::Interpolated(layer) => on(self.interpolated(tape, part, layer, x)),
            TowerStep::Windows { .. } => self.in_windows(tape, on(x)),
            TowerStep::InOrder => self.in_order(tape, on(x)),
            TowerStep::Gated { norm, matrices } => {
                on(self.gated(tape, part, (norm, matrices), (x, rows)))
            }
            TowerStep::Gelu => on(Activation::of(HiddenAct::Gelu).run(&x)),
            TowerStep::Merged => self.merged(tape, on(x)),
            TowerStep::FeedForward { norm, matrices, scale } => {
                on(self.feed(tape, part, (norm, matrices, scale), (x, rows)))
            }
            // A convolution's planes are seen as rows, and sums with them stay in that order; their
            // gradients do not.
            TowerStep::OfBlock if self.of_planes => on(x.ordered(Order::Swapped)),
            TowerStep::WithoutFirst => self.without_first(tape, on(x)),
            TowerStep::OfBlock
            | TowerStep::Typed
            | TowerStep::Heard
            | TowerStep::Is(_)
            | TowerStep::OfLast
            | TowerStep::Spread { .. }
            | TowerStep::Tiled(_)
            | TowerStep::Feeds(_) => on(x),
            TowerStep::Linear(layer) => self.linear(tape, part.layer(layer), None, on(x)),
            TowerStep::BiasedBehind(layer, bias) => {
                let bias = behind.and_then(|behind| behind.layer(bias)).map(|(_, param)| param);
                self.linear(tape, part.layer(layer), bias, on(x))
            }
            TowerStep::Function => on(self.with_function(&x)),
            TowerStep::Pooled => self.pooled(tape, on(x)),
            TowerStep::NormOnePlus(layer) => on(self.norm_one_plus(tape, part, layer, (x, rows))),
            TowerStep::Times(layer) => self.times(tape, part.layer(layer), on(x)),
            TowerStep::Listed => on(x.listed(self.form(tape, rows, width))),
        };
        (next, None)
    }
}
