//! A block of Transformer Engine's modules (`transformer_impl` `transformer_engine`): norms inside
//! the column-parallel layers, products with a workspace that stays, weight gradients added to the
//! main gradients by the product, a fused rotation.

use super::super::schedule::Kind;
use super::adapters::{Between, Passage};
use super::sizes::Sizes;
use super::{Adapter, Block, Feed, Forward, Gradient, Mixed, Order, Taken};

/// Parts in which the gradient of a norm's scale is added up in fp32, in bytes for each byte of the
/// scale: 16 rows of threads on each of 132 multiprocessors, each with 4 bytes for 2
/// (`rmsnorm_bwd`, whose kernel asks for them).
pub(super) const PARTS_OF_SCALE: u64 = 16 * 132 * 2;

/// A norm and the column-parallel product behind it (`LayerNormLinear`).
#[derive(Clone, Copy)]
struct Normed {
    output: Taken,
    statistics: [Taken; 2],
    product: Taken,
    adapter: Adapter,
}

/// The matrix of a product, for which a gradient stands that is never read (`get_dummy_wgrad`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Matrix {
    Projection,
    Output,
    Up,
    Down,
    Head,
    ExpertUp,
    ExpertDown,
    /// One of an adapter's, with so many rows and columns.
    Adapter([u64; 2]),
}

impl Order<'_> {
    /// Attention and feed-forward of a block; see `local_block`.
    pub(super) fn engine_block(&mut self, input: Taken, keeps: bool) -> (Taken, Block) {
        let (residual, mixed) = self.engine_attention(input, keeps);
        let kind = self
            .stage
            .chunks
            .first()
            .and_then(|places| places.get(self.place))
            .map(|place| place.kind);
        let (output, feed) = if kind == Some(Kind::Experts) {
            let (output, experts) = self.experts(residual, keeps);
            (output, Forward::Experts(experts))
        } else {
            let (output, feed) = self.engine_feed_forward(residual, keeps);
            (output, Forward::Dense(feed))
        };
        (output, Block { mixed, feed })
    }

    /// A norm, its output gathered, and the product.
    fn normed_product(
        &mut self,
        layer: Matrix,
        (name, bytes): (&'static str, u64),
        keeps: bool,
    ) -> Normed {
        let (mut normed, mut statistics) = self.norm("normed input", true);
        let whole = self.player.take_if(self.sizes.split, "gathered input", self.sizes.whole);
        let product = self.player.take(name, bytes);
        if self.is_frozen() && self.adapters.beside(layer).is_none() {
            // A frozen layer frees its norm's output, unless an adapter is given that output.
            self.player.free(normed);
            normed = Taken::NOTHING;
        }
        self.player.free(whole);
        if !keeps {
            self.player.free_all(statistics);
            statistics = [Taken::NOTHING; 2];
        }
        let (product, adapter) = self.adapted(self.column(layer, bytes), product, keeps);
        if !keeps {
            self.player.free(normed);
            normed = Taken::NOTHING;
        }
        Normed { output: normed, statistics, product, adapter }
    }

    /// How an adapter beside a column-parallel layer behind a norm reads and makes tokens.
    const fn column(&self, layer: Matrix, output: u64) -> Passage {
        Passage { layer, input: self.sizes.hidden, output, between: Between::Gathered }
    }

    /// An adapter beside a row-parallel layer.
    const fn row(&self, layer: Matrix, input: u64) -> Passage {
        Passage { layer, input, output: self.sizes.hidden, between: Between::Scattered }
    }

    fn engine_attention(&mut self, input: Taken, keeps: bool) -> (Taken, Mixed) {
        let sizes = self.sizes;
        self.player.enter("Attention");
        let Normed { output: normed, statistics, product: joint, adapter: of_joint } = self
            .normed_product(
                Matrix::Projection,
                ("queries, keys and values", sizes.projected),
                keeps,
            );
        let apart = self.player.take_if(sizes.parts_queries, "queries apart", sizes.queries);
        let [read, heads, of_heads] = self.engine_head_norms(apart, keeps);
        let player = &mut self.player;
        let mut rotated = heads;
        if sizes.rotates {
            rotated = [
                player.take("rotated queries", sizes.queries),
                player.take("rotated keys", sizes.keys),
            ];
        }
        let joint = self.values_apart(joint);
        let mut output = self.player.take("attention output", sizes.queries);
        let mut sums = self.log_sums();
        if !keeps || self.recomputes_core() {
            self.player.free_all(sums);
            sums = [Taken::NOTHING; 3];
        }
        let projection = self.player.take("output projection", sizes.whole);
        let projection = self.scattered(projection);
        let (projection, of_output) =
            self.adapted(self.row(Matrix::Output, sizes.queries), projection, keeps);
        let lets_go = keeps && self.recomputes_core() && !self.keeps_input(Matrix::Output);
        let player = &mut self.player;
        if sizes.rotates {
            player.free_all([heads[1], heads[0]]);
        }
        player.free_unless(keeps, [rotated[0], rotated[1], joint, output]);
        if lets_go {
            player.free(output);
            output = Taken::NOTHING;
        }
        let residual = player.take("attention residual", sizes.hidden);
        player.free(projection);
        let [apart, keys_apart] = if sizes.head_norms { read } else { [Taken::NOTHING; 2] };
        let angles = [keys_apart, Taken::NOTHING, Taken::NOTHING, Taken::NOTHING];
        let adapters = [of_joint, of_output];
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

    /// Norms of each head's queries and keys: the copies that they read, what they make, and their
    /// statistics.
    fn engine_head_norms(&mut self, apart: Taken, keeps: bool) -> [[Taken; 2]; 3] {
        let sizes = self.sizes;
        let (mut read, mut heads, mut of_heads) =
            ([apart, Taken::NOTHING], [apart, Taken::NOTHING], [Taken::NOTHING; 2]);
        if !sizes.head_norms {
            return [read, heads, of_heads];
        }
        let player = &mut self.player;
        let each = [
            (!sizes.parts_queries, "normed queries", sizes.queries, sizes.of_query_heads),
            (true, "normed keys", sizes.keys, sizes.of_key_heads),
        ];
        for (place, (copies, name, bytes, statistic)) in each.into_iter().enumerate() {
            // Its contiguous copy is kept for backward.
            let copy = if copies { player.take("copy of the heads", bytes) } else { apart };
            let normed = player.take(name, bytes);
            let kept = player.take("norm statistic of heads", statistic);
            player.free_unless(keeps, [kept, copy]);
            for (all, one) in [(&mut heads, normed), (&mut of_heads, kept), (&mut read, copy)] {
                if let Some(of) = all.get_mut(place) {
                    *of = one;
                }
            }
        }
        [read, heads, of_heads]
    }

    fn engine_feed_forward(&mut self, residual: Taken, keeps: bool) -> (Taken, Feed) {
        self.player.enter("Feed-forward");
        let (output, feed) = self.engine_matrices(residual, keeps && !self.recomputes_mlp());
        let sum = self.player.take("block output", self.sizes.hidden);
        self.player.free(output);
        self.player.free_unless(keeps, [residual]);
        (sum, feed)
    }

    fn engine_matrices(&mut self, residual: Taken, keeps: bool) -> (Taken, Feed) {
        let Sizes { up, activated, whole, .. } = self.sizes;
        let Normed { output: normed, statistics, product, adapter: of_up } =
            self.normed_product(Matrix::Up, ("activation input", up), keeps);
        let bytes = activated;
        let activated = self.player.take("activation output", bytes);
        self.player.free_unless(keeps, [product]);
        let output = self.player.take("down projection", whole);
        let output = self.scattered(output);
        let (output, of_down) = self.adapted(self.row(Matrix::Down, bytes), output, keeps);
        let keeps_activated = keeps && self.keeps_input(Matrix::Down);
        self.player.free_unless(keeps_activated, [activated]);
        let up = if keeps { product } else { Taken::NOTHING };
        let activated = if keeps_activated { activated } else { Taken::NOTHING };
        (output, Feed { residual, normed, statistics, up, activated, adapters: [of_up, of_down] })
    }

    /// Backward of a block; see `local_back`.
    pub(super) fn engine_back(&mut self, block: &Block, gradient: &mut Gradient) {
        match &block.feed {
            Forward::Dense(feed) => self.engine_feed_back(feed, gradient),
            Forward::Experts(experts) => self.experts_back(experts, gradient),
        }
        self.engine_attention_back(&block.mixed, gradient);
    }

    /// A weight's gradient is added to the main gradient; the dummy that stands for it stays.
    pub(super) fn stand_in(&mut self, matrix: Matrix) {
        let weights = self.weights;
        if self.is_frozen() && !matches!(matrix, Matrix::Adapter(_)) {
            return;
        }
        let bytes = match matrix {
            Matrix::Projection => weights.projection,
            Matrix::Output => weights.output,
            Matrix::Up => weights.up,
            Matrix::Down => weights.down,
            Matrix::Head => weights.head,
            Matrix::ExpertUp => weights.expert_up,
            Matrix::ExpertDown => weights.expert_down,
            Matrix::Adapter([rows, columns]) => rows.saturating_mul(columns).saturating_mul(2),
        };
        if self.run.megatron.gradient_accumulation_fusion
            && !self.lasting.stand_ins.contains(&matrix)
        {
            self.lasting.stand_ins.push(matrix);
            self.player.take("stands for a weight's gradient", bytes);
        }
    }

    /// The gradient of a weight of PyTorch's products: a tensor of its own, or only the dummy that
    /// stands for it.
    pub(super) fn head_gradient(&mut self) -> Taken {
        if self.is_frozen() {
            return Taken::NOTHING;
        }
        if self.run.megatron.transformer_engine && self.run.megatron.gradient_accumulation_fusion {
            self.stand_in(Matrix::Head);
            return Taken::NOTHING;
        }
        self.weight_gradient(self.weights.head)
    }

    /// The gradient of a weight of Transformer Engine's products, where they do not add it to the
    /// main gradient.
    fn engine_weight_gradient(&mut self, matrix: Matrix, bytes: u64) -> Taken {
        if self.run.megatron.gradient_accumulation_fusion || self.is_frozen() {
            return Taken::NOTHING;
        }
        self.stand_in(matrix);
        self.player.take("gradient of the weight", bytes)
    }

    /// Backward of a row-parallel layer (`Linear`) and its adapter: the gradient of its input,
    /// which is freed.
    fn row_back(
        &mut self,
        matrix: Matrix,
        (name, bytes, weight): (&'static str, u64, u64),
        (input, adapter): (Taken, &Adapter),
    ) -> (Taken, Taken) {
        let of_adapter = self.adapter_back(self.row(matrix, bytes), adapter, input);
        let whole = self.gathered_gradient();
        let of_input = self.player.take(name, bytes);
        let of_weight = self.engine_weight_gradient(matrix, weight);
        self.player.free_all([if self.is_frozen() { Taken::NOTHING } else { input }, whole]);
        self.stand_in(matrix);
        if of_adapter == Taken::NOTHING {
            return (of_input, of_weight);
        }
        // The layer's is added to the adapter's, which came first.
        self.player.free(of_input);
        (of_adapter, of_weight)
    }

    /// Backward of a norm and the product behind it.
    fn normed_back(
        &mut self,
        (matrix, weight): (Matrix, u64),
        of_product: Taken,
        (input, normed, statistics, adapter): (Taken, Taken, [Taken; 2], &Adapter),
        gradient: &mut Gradient,
    ) {
        let Sizes { hidden, whole, scale, split, statistics: count, up, projected, .. } =
            self.sizes;
        let output = if matrix == Matrix::Up { up } else { projected };
        let of_adapter = self.adapter_back(self.column(matrix, output), adapter, Taken::NOTHING);
        let frozen = self.is_frozen();
        let gathered = self.player.take_if(split && !frozen, "gathered input", whole);
        let of_whole = self.player.take("gradient of the normed input", whole);
        let mut of_local = self.player.take_if(split, "gradient of the normed input", hidden);
        let of_weight = self.engine_weight_gradient(matrix, weight);
        let late = if frozen { normed } else { Taken::NOTHING };
        self.player.free_all([if frozen { Taken::NOTHING } else { normed }, gathered]);
        if of_adapter != Taken::NOTHING {
            let sum = self.player.take("gradient of the normed input, with the adapter's", hidden);
            self.player.free(of_local);
            of_local = sum;
        }
        let of_input = self.player.take("gradient of the norm's input", hidden);
        let of_scale = [0, 1]
            .map(|place| self.player.take_if(place < count, "gradient of the norm's scale", scale));
        self.player.brief("partial sums of the norm's scale", scale.saturating_mul(PARTS_OF_SCALE));
        self.player.free(of_local);
        self.player.free_all(statistics);
        self.stand_in(matrix);
        self.player.free_all([of_whole, of_adapter, of_product, input, late]);
        gradient.add(&mut self.player, of_input, hidden);
        self.player.free_all(of_scale);
        self.player.free(of_weight);
    }

    fn engine_feed_back(&mut self, feed: &Feed, gradient: &mut Gradient) {
        self.player.enter("Feed-forward");
        let (sizes, weights) = (self.sizes, self.weights);
        let (mut again, mut feed) = (Taken::NOTHING, *feed);
        if self.recomputes_mlp() {
            (again, feed) = self.engine_matrices(feed.residual, true);
        }
        let of_activated = ("gradient of the activation output", sizes.activated, weights.down);
        let [of_up, of_down] = feed.adapters;
        let (of_activated, of_down) =
            self.row_back(Matrix::Down, of_activated, (feed.activated, &of_down));
        let gradient_of_up = self.player.take("gradient of the activation input", sizes.up);
        self.player.free_all([of_activated, of_down, feed.up]);
        let kept = (feed.residual, feed.normed, feed.statistics, &of_up);
        self.normed_back((Matrix::Up, weights.up), gradient_of_up, kept, gradient);
        self.player.free(again);
    }

    fn engine_attention_back(&mut self, mixed: &Mixed, gradient: &mut Gradient) {
        self.player.enter("Attention");
        let (sizes, weights) = (self.sizes, self.weights);
        let recomputes = self.recomputes_core();
        let of_output = ("gradient of the attention output", sizes.queries, weights.output);
        let kept = if recomputes { mixed.output } else { Taken::NOTHING };
        let [of_joint, of_projection] = mixed.adapters;
        let (of_output, of_weight) =
            self.row_back(Matrix::Output, of_output, (kept, &of_projection));
        self.player.free(of_weight);
        let again = self.player.take_if(recomputes, "attention output", sizes.queries);
        let sums = if recomputes { self.log_sums() } else { mixed.sums };
        let [mut of_queries, mut of_keys, of_values] = self.attention_gradients();
        let output = if recomputes { again } else { mixed.output };
        self.player.free_all(sums);
        self.player.free_all([output, of_output, mixed.rotated[0], mixed.rotated[1], mixed.joint]);
        let player = &mut self.player;
        if sizes.rotates {
            for (gradient, bytes) in [(&mut of_keys, sizes.keys), (&mut of_queries, sizes.queries)]
            {
                let turned = player.take("gradient before rotation", bytes);
                player.free(*gradient);
                *gradient = turned;
            }
        }
        if sizes.head_norms {
            let of_heads = [
                (&mut of_keys, sizes.keys, mixed.angles[0], mixed.of_heads[1]),
                (&mut of_queries, sizes.queries, mixed.apart, mixed.of_heads[0]),
            ];
            for (gradient, bytes, read, statistic) in of_heads {
                let before = player.take("gradient before the norm", bytes);
                let scale = player.take("gradient of the norm's scale", sizes.head_scale);
                player.brief(
                    "partial sums of the norm's scale",
                    sizes.head_scale.saturating_mul(PARTS_OF_SCALE),
                );
                player.free_all([read, statistic, *gradient, scale]);
                *gradient = before;
            }
        }
        let joint = player.take("gradient of queries, keys and values", sizes.projected);
        player.free_all([of_queries, of_keys, of_values]);
        let kept = (mixed.input, mixed.normed, mixed.statistics, &of_joint);
        self.normed_back((Matrix::Projection, weights.projection), joint, kept, gradient);
    }
}
