//! A block of Megatron-Core's own modules (`transformer_impl` `local`): norms, linear layers
//! (`tensor_parallel/layers.py`), attention in a flash kernel, fused activation function, fused
//! bias, dropout and residual sum.

use super::engine::PARTS_OF_SCALE;
use super::rotary::{rotate, rotate_back};
use super::sizes::Sizes;
use super::{Adapter, Block, Feed, Forward, Gradient, Lasting, Mixed, Order, Player, Taken};
use crate::ops::tape::partial_sums;

impl Order<'_> {
    /// Attention and feed-forward of a block on `input`: its output, and what is kept for backward.
    ///
    /// `keeps`: gradients follow; otherwise this is the forward of a checkpoint, which frees
    /// everything but its output.
    pub(super) fn local_block(&mut self, input: Taken, keeps: bool) -> (Taken, Block) {
        let (residual, mixed) = self.local_attention(input, keeps);
        let (output, feed) = self.local_feed_forward(residual, keeps);
        (output, Block { mixed, feed: Forward::Dense(feed) })
    }

    fn local_attention(&mut self, input: Taken, keeps: bool) -> (Taken, Mixed) {
        let Sizes { hidden, projected, queries, keys, .. } = self.sizes;
        self.player.enter("Attention");
        let (normed, statistics) = self.norm("normed input", keeps);
        self.gather_input();
        let mut joint = self.multiply("queries, keys and values", projected);
        if self.sizes.bias {
            let biased = self.player.take("queries, keys and values with bias", projected);
            self.player.free(joint);
            joint = biased;
        }
        let sizes = self.sizes;
        let apart = self.player.take_if(sizes.parts_queries, "queries apart", queries);
        let [heads, of_heads] = self.local_head_norms(apart, keeps);
        let player = &mut self.player;
        let (mut rotated, mut angles) = (heads, [Taken::NOTHING; 4]);
        if sizes.rotates {
            let (of_queries, first) = rotate(player, &sizes, "rotated queries", queries, keeps);
            let (of_keys, second) = rotate(player, &sizes, "rotated keys", keys, keeps);
            rotated = [of_queries, of_keys];
            angles = [first[0], first[1], second[0], second[1]];
        }
        joint = self.values_apart(joint);
        let output = self.player.take("attention output", queries);
        let mut sums = self.log_sums();
        if !keeps || self.recomputes_core() {
            self.player.free_all(sums);
            sums = [Taken::NOTHING; 3];
        }
        let projection = self.multiply("output projection", self.sizes.whole);
        let projection = self.scattered(projection);
        let player = &mut self.player;
        // The variables of the method go with it; tensors that autograd keeps stay.
        if sizes.rotates {
            player.free_all([heads[1], heads[0]]);
        }
        player.free_unless(keeps, [rotated[0], rotated[1], joint, output]);
        let residual = player.take("attention residual", hidden);
        player.free(projection);
        if !keeps {
            player.free(normed);
        }
        let apart = if sizes.head_norms { apart } else { Taken::NOTHING };
        let adapters = [Adapter::NONE; 2];
        (
            residual,
            Mixed {
                input,
                normed,
                statistics,
                joint,
                apart,
                of_heads,
                angles,
                rotated,
                output,
                sums,
                adapters,
            },
        )
    }

    /// Norms of each head's queries and keys: what they make, and their statistics.
    fn local_head_norms(&mut self, apart: Taken, keeps: bool) -> [[Taken; 2]; 2] {
        let sizes = self.sizes;
        let (mut heads, mut of_heads) = ([apart, Taken::NOTHING], [Taken::NOTHING; 2]);
        if !sizes.head_norms {
            return [heads, of_heads];
        }
        let player = &mut self.player;
        let copies = [!sizes.parts_queries, true];
        let each = [
            ("normed queries", sizes.queries, sizes.of_query_heads),
            ("normed keys", sizes.keys, sizes.of_key_heads),
        ];
        for (place, ((name, bytes, statistic), copies)) in each.into_iter().zip(copies).enumerate()
        {
            // The kernel reads a contiguous copy of a part of the joint projection.
            let copy = player.take_if(copies, "copy of the heads", bytes);
            let normed = player.take(name, bytes);
            let kept = player.take("norm statistic of heads", statistic);
            player.free(copy);
            player.free_unless(keeps, [kept, if copies { Taken::NOTHING } else { apart }]);
            for (all, one) in [(&mut heads, normed), (&mut of_heads, kept)] {
                if let Some(of) = all.get_mut(place) {
                    *of = one;
                }
            }
        }
        [heads, of_heads]
    }

    fn local_feed_forward(&mut self, residual: Taken, keeps: bool) -> (Taken, Feed) {
        let Sizes { hidden, whole, up, activated, .. } = self.sizes;
        self.player.enter("Feed-forward");
        let (normed, statistics) = self.norm("normed attention residual", keeps);
        let keeps_inner = keeps && !self.recomputes_mlp();
        let (output, [up, activated]) = self.local_matrices([up, activated, whole], keeps_inner);
        let sum = self.player.take("block output", hidden);
        if keeps {
            self.player.free(output);
        } else {
            self.player.free_all([normed, output, residual]);
        }
        (sum, Feed { residual, normed, statistics, up, activated, adapters: [Adapter::NONE; 2] })
    }

    /// The two matrices of a feed-forward layer and the activation function between them.
    fn local_matrices(
        &mut self,
        [up, activated, whole]: [u64; 3],
        keeps: bool,
    ) -> (Taken, [Taken; 2]) {
        self.gather_input();
        let mut up = self.multiply("activation input", up);
        let mut activated = self.player.take("activation output", activated);
        if !keeps {
            self.player.free(up);
            up = Taken::NOTHING;
        }
        let output = self.multiply("down projection", whole);
        let output = self.scattered(output);
        if !keeps {
            self.player.free(activated);
            activated = Taken::NOTHING;
        }
        (output, [up, activated])
    }

    /// Backward of a block; the gradient of its output becomes that of its input.
    pub(super) fn local_back(&mut self, block: &Block, gradient: &mut Gradient) {
        match &block.feed {
            Forward::Dense(feed) => self.local_feed_back(feed, gradient),
            Forward::Experts(experts) => self.experts_back(experts, gradient),
        }
        self.local_attention_back(&block.mixed, gradient);
    }

    fn local_feed_back(&mut self, feed: &Feed, gradient: &mut Gradient) {
        self.player.enter("Feed-forward");
        let sizes = self.sizes;
        let (mut again, mut kept) = (Taken::NOTHING, [feed.up, feed.activated]);
        if self.recomputes_mlp() {
            (again, kept) = self.local_matrices([sizes.up, sizes.activated, sizes.whole], true);
        }
        let weights = self.weights;
        let whole = self.gathered_gradient();
        let of_activated = self.multiply("gradient of the activation output", sizes.activated);
        let of_down = self.weight_gradient(weights.down);
        self.player.free_all([whole, kept[1], of_down]);
        let of_up = self.player.take("gradient of the activation input", sizes.up);
        self.player.free_all([of_activated, kept[0]]);
        let of_normed = self.multiply("gradient of the normed residual", sizes.whole);
        let of_local =
            self.player.take_if(sizes.split, "gradient of the normed residual", sizes.hidden);
        let of_weight = self.weight_gradient(weights.up);
        let normed = if sizes.split { (of_normed, of_local) } else { (Taken::NOTHING, of_normed) };
        self.player.free_all([normed.0, of_up]);
        let rest = if self.recomputes_mlp() {
            [of_weight, again, feed.normed]
        } else {
            [feed.normed, of_weight, again]
        };
        self.player.free_all(rest);
        self.norm_back(normed.1, feed.residual, feed.statistics, gradient);
    }

    fn local_attention_back(&mut self, mixed: &Mixed, gradient: &mut Gradient) {
        self.player.enter("Attention");
        let (sizes, weights) = (self.sizes, self.weights);
        let whole = self.gathered_gradient();
        let of_output = self.multiply("gradient of the attention output", sizes.queries);
        let of_weight = self.weight_gradient(weights.output);
        let [of_queries, of_keys, of_values] = if self.recomputes_core() {
            self.player.free_all([whole, mixed.output, of_weight]);
            let again = self.player.take("attention output", sizes.queries);
            let sums = self.log_sums();
            let gradients = self.attention_gradients();
            self.player.free_all(sums);
            self.player.free_all([again, of_output, mixed.rotated[0], mixed.rotated[1]]);
            gradients
        } else {
            self.player.free_all([whole, of_weight]);
            let gradients = self.attention_gradients();
            let [sums, first, second] = mixed.sums;
            self.player.free_all([
                of_output,
                mixed.rotated[1],
                mixed.rotated[0],
                sums,
                mixed.output,
                first,
                second,
            ]);
            gradients
        };
        if !sizes.head_norms {
            self.player.free(mixed.joint);
        }
        let of_keys = self.rotated_back(
            "gradient of keys",
            sizes.keys,
            of_keys,
            [mixed.angles[2], mixed.angles[3]],
        );
        let of_queries = self.rotated_back(
            "gradient of queries",
            sizes.queries,
            of_queries,
            [mixed.angles[0], mixed.angles[1]],
        );
        let [of_queries, of_keys] = self.heads_back(mixed, [of_queries, of_keys]);
        let joint = self.player.take("gradient of queries, keys and values", sizes.projected);
        self.player.free_all([of_queries, of_keys, of_values]);
        let of_normed = self.multiply("gradient of the normed input", sizes.whole);
        let of_local =
            self.player.take_if(sizes.split, "gradient of the normed input", sizes.hidden);
        let of_weight = self.weight_gradient(weights.projection);
        let of_bias = self.bias_gradient();
        let normed = if sizes.split { (of_normed, of_local) } else { (Taken::NOTHING, of_normed) };
        self.player.free_all([normed.0, joint, mixed.normed, of_weight, of_bias]);
        self.norm_back(normed.1, mixed.input, mixed.statistics, gradient);
    }

    /// Backward of norms over heads: keys first, as autograd comes to them.
    fn heads_back(&mut self, mixed: &Mixed, [of_queries, of_keys]: [Taken; 2]) -> [Taken; 2] {
        let sizes = self.sizes;
        if !sizes.head_norms {
            return [of_queries, of_keys];
        }
        let player = &mut self.player;
        let copy = player.take("copy of the heads", sizes.keys);
        let keys = player.take("gradient of projected keys", sizes.keys);
        let scale = player.take("gradient of the norm's scale", sizes.head_scale);
        let joint = if sizes.parts_queries { mixed.joint } else { Taken::NOTHING };
        player.free_all([copy, of_keys, joint, mixed.of_heads[1], scale]);
        let copy = player.take_if(!sizes.parts_queries, "copy of the heads", sizes.queries);
        let queries = player.take("gradient of projected queries", sizes.queries);
        let scale = player.take("gradient of the norm's scale", sizes.head_scale);
        let read = if sizes.parts_queries { mixed.apart } else { mixed.joint };
        player.free_all([copy, of_queries, read, mixed.of_heads[0], scale]);
        [queries, keys]
    }

    /// The gradient of the projections' bias: a sum over tokens.
    fn bias_gradient(&mut self) -> Taken {
        if !self.sizes.bias {
            return Taken::NOTHING;
        }
        let columns = self.sizes.projected / self.sizes.half_of_tokens();
        let gradient = self.player.take("gradient of the bias", columns.saturating_mul(2));
        if let Some((partial, _)) = partial_sums(self.sizes.mask, columns) {
            self.player.brief("partial sums", partial);
        }
        gradient
    }

    fn rotated_back(
        &mut self,
        name: &'static str,
        bytes: u64,
        gradient: Taken,
        angles: [Taken; 2],
    ) -> Taken {
        if self.sizes.rotates {
            rotate_back(&mut self.player, name, bytes, gradient, angles)
        } else {
            gradient
        }
    }
}

/// Parts that both kinds of modules have in common.
impl Order<'_> {
    /// A norm over the residual stream: its output and what it keeps beside its input.
    pub(super) fn norm(&mut self, name: &'static str, keeps: bool) -> (Taken, [Taken; 2]) {
        let Sizes { hidden, statistic, statistics, .. } = self.sizes;
        // Transformer Engine takes statistics first, PyTorch the output.
        let first = self.run.megatron.transformer_engine;
        let early = self.player.take_if(!first, name, hidden);
        let kept = [0, 1]
            .map(|place| self.player.take_if(place < statistics, "norm statistic", statistic));
        let normed = if first { self.player.take(name, hidden) } else { early };
        if keeps {
            return (normed, kept);
        }
        self.player.free_all(kept);
        (normed, [Taken::NOTHING; 2])
    }

    /// Backward of such a norm; its input is freed, and its gradient joins the residual stream's.
    pub(super) fn norm_back(
        &mut self,
        of_output: Taken,
        input: Taken,
        statistics: [Taken; 2],
        gradient: &mut Gradient,
    ) {
        let Sizes { hidden, scale, statistics: kept, .. } = self.sizes;
        let of_input = self.player.take("gradient of the norm's input", hidden);
        let of_scale = [0, 1]
            .map(|place| self.player.take_if(place < kept, "gradient of the norm's scale", scale));
        if self.run.megatron.transformer_engine {
            self.player
                .brief("partial sums of the norm's scale", scale.saturating_mul(PARTS_OF_SCALE));
            self.player.free_all(statistics);
            self.player.free_all([of_output, input]);
        } else {
            self.player.free_all([of_output, input]);
            self.player.free_all(statistics);
        }
        gradient.add(&mut self.player, of_input, hidden);
        self.player.free_all(of_scale);
    }

    /// A product of PyTorch, with the workspace that it takes and gives back.
    pub(super) fn multiply(&mut self, name: &'static str, bytes: u64) -> Taken {
        let product = self.player.take(name, bytes);
        self.player.brief("workspace of cuBLAS", self.workspace);
        product
    }

    /// The gradient of a weight as a tensor of its own, to be added to the main gradient.
    pub(super) fn weight_gradient(&mut self, bytes: u64) -> Taken {
        self.multiply("gradient of the weight", bytes)
    }

    /// The part of a sum over tensor ranks that this rank keeps.
    pub(super) fn scattered(&mut self, whole: Taken) -> Taken {
        if !self.sizes.split {
            return whole;
        }
        let part = self.player.take("this rank's part of the sum", self.sizes.hidden);
        self.player.free(whole);
        part
    }

    /// The buffer into which inputs are gathered: taken for the first, and kept.
    pub(super) fn gather_input(&mut self) {
        if self.sizes.split {
            Lasting::once(
                &mut self.lasting.gathered,
                &mut self.player,
                "gathered input",
                self.sizes.whole,
            );
        }
    }

    /// The gradient of the residual stream, gathered for a layer whose output was scattered.
    pub(super) fn gathered_gradient(&mut self) -> Taken {
        self.player.take_if(self.sizes.split, "gathered gradient", self.sizes.whole)
    }

    /// cuDNN's attention is given values apart; for flash attention they stay a view of the joint
    /// projection, which is kept whole.
    pub(super) fn values_apart(&mut self, joint: Taken) -> Taken {
        if !(self.run.megatron.fused_attention && self.sizes.rotates) {
            return joint;
        }
        let values = self.player.take("values", self.sizes.keys);
        self.player.free(joint);
        values
    }

    /// Flash attention keeps this beside its output: log-sum-exp and the state of random numbers.
    pub(super) fn log_sums(&mut self) -> [Taken; 3] {
        let sums = self.player.take("log-sum-exp", self.sizes.sums);
        [sums, self.player.take("random seed", 16), self.player.take("random offset", 8)]
    }

    /// Backward of flash attention: gradients of queries, keys and values.
    pub(super) fn attention_gradients(&mut self) -> [Taken; 3] {
        let Sizes { queries, keys, sums, accumulated, shares_keys, .. } = self.sizes;
        let player = &mut self.player;
        let gradients = [
            ("gradient of queries", queries),
            ("gradient of keys", keys),
            ("gradient of values", keys),
        ];
        let gradients = gradients.map(|(name, bytes)| player.take(name, bytes));
        let sums = player.take("sums over output and its gradient", sums);
        let accumulated = player.take("gradient of queries in fp32", accumulated);
        let each =
            [0, 1].map(|_| player.take_if(shares_keys, "gradients of every query head", queries));
        player.free_all([each[1], each[0], accumulated, sums]);
        gradients
    }
}

impl Player {
    /// Frees them, where they are not kept.
    pub(super) fn free_unless(&mut self, kept: bool, all: impl IntoIterator<Item = Taken>) {
        if !kept {
            self.free_all(all);
        }
    }
}
