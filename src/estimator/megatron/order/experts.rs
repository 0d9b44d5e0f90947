//! A mixture of experts (`transformer/moe`): router in fp32, tokens permuted, sent and sorted by
//! fused kernels or PyTorch's operators, grouped products of Transformer Engine. Every expert gets
//! equally many tokens.

use super::adapters::{Between, Passage};
use super::engine::Matrix;
use super::{Adapter, Gradient, Lasting, Order, Taken};
use crate::config::{Job, Moe, TrainingRun};
use crate::ops::megatron::GROUPED_STREAMS;

/// Bytes of one micro-batch's tensors between router and experts.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Routing {
    /// The router's input in fp32; its weight in fp32 and in 16 bits.
    pub wide: u64,
    pub weight: u64,
    /// One fp32 value for each token and expert; of the chosen experts alone.
    pub scores: u64,
    pub chosen: u64,
    /// Which token goes to which row (`make_row_id_map`), and one number for each row.
    pub rows: u64,
    pub each_row: u64,
    /// Tokens on their way to the experts, and the experts' tensors.
    pub routed: u64,
    pub up: u64,
    pub activated: u64,
    /// True if tokens are sent to other ranks, if they are sorted by expert, and if Transformer
    /// Engine's kernels permute and sort them.
    pub sends: bool,
    pub sorts: bool,
    pub fused: bool,
}

impl Routing {
    pub fn of(job: &Job, run: &TrainingRun, moe: &Moe) -> Self {
        let (layout, hidden) = (job.layout(), job.model().hidden_size);
        let t = if layout.sequence_parallel { layout.t() } else { 1 };
        let sequences = job.micro_batch_size().saturating_mul(run.tuning.objective.sequences());
        let tokens = run.seq_length.div_ceil(layout.cp()).div_ceil(t).saturating_mul(sequences);
        let rows = tokens.saturating_mul(moe.num_experts_per_tok);
        let activated = rows.saturating_mul(moe.moe_intermediate_size).saturating_mul(2);
        Self {
            wide: tokens.saturating_mul(hidden).saturating_mul(4),
            weight: moe.num_experts.saturating_mul(hidden).saturating_mul(4),
            scores: tokens.saturating_mul(moe.num_experts).saturating_mul(4),
            chosen: rows.saturating_mul(4),
            rows: tokens
                .saturating_mul(moe.num_experts.saturating_mul(2).saturating_add(1))
                .saturating_mul(4),
            each_row: rows.saturating_mul(4),
            routed: rows.saturating_mul(hidden).saturating_mul(2),
            up: activated.saturating_mul(2),
            activated,
            sends: layout.ep() > 1,
            sorts: moe.num_experts / layout.ep().max(1) > 1,
            fused: run.megatron.moe_permute_fusion,
        }
    }
}

/// Tensors that a mixture of experts keeps for backward.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experts {
    residual: Taken,
    statistics: [Taken; 2],
    normed: Taken,
    indices: Taken,
    weights: Taken,
    order: Taken,
    /// The transposed map and probabilities that PyTorch's operators picked from.
    picked: [Taken; 2],
    input: Taken,
    of_rows: Taken,
    up: Taken,
    activated: Taken,
    back: Taken,
    /// Beside both matrices.
    adapters: [Adapter; 2],
}

/// Tokens as the dispatcher hands them to the experts.
#[derive(Clone, Copy, Debug)]
struct Dispatched {
    permuted: Taken,
    received: Taken,
    of_rows: Taken,
    order: Taken,
    picked: [Taken; 2],
    /// As the experts read them, and their probabilities.
    input: Taken,
    sorted: Taken,
}

impl Order<'_> {
    /// From the first residual sum to the block's output; see `local_block`.
    pub(super) fn experts(&mut self, residual: Taken, keeps: bool) -> (Taken, Experts) {
        self.player.enter("Experts");
        let Routing { each_row, routed, sends, sorts, fused, .. } = self.routing;
        let (normed, statistics) = self.norm("normed attention residual", keeps);
        let (indices, weights) = self.route(keeps);
        let Dispatched { permuted, received, of_rows, order, picked, input, sorted } =
            self.dispatch(keeps);
        let (mut output, [up, activated], adapters) = self.multiplied(keeps);
        let keeps_input = keeps && self.keeps_input(Matrix::ExpertUp);
        let player = &mut self.player;
        let mut back = Taken::NOTHING;
        if sorts {
            back = player.take_if(fused, "order of rows", each_row);
            let unsorted = player.take("tokens in the order received", routed);
            player.free_unless(keeps, [back]);
            player.free_unless(keeps_input, [input]);
            player.free_unless(keeps, [sorted]);
            player.free(output);
            output = unsorted;
        }
        if sends {
            let returned = player.take("returned tokens", routed);
            player.free(output);
            output = returned;
        }
        let sum = player.take("experts' sum", self.sizes.hidden);
        player.free_all([output, permuted]);
        if sends {
            player.free(of_rows);
            // One expert reads tokens as they were received.
            player.free_unless(keeps_input && !sorts, [received]);
        } else if sorts {
            player.free(of_rows);
        }
        let input = if keeps_input { input } else { Taken::NOTHING };
        let result = player.take("block output", self.sizes.hidden);
        player.free_unless(keeps, [normed]);
        player.free(sum);
        player.free_unless(keeps, [residual]);
        let of_rows = sorted;
        let kept = Experts {
            residual,
            statistics,
            normed,
            indices,
            weights,
            order,
            picked,
            input,
            of_rows,
            up,
            activated,
            back,
            adapters,
        };
        (result, kept)
    }

    /// Tokens on their way to the experts: permuted, sent, sorted by expert.
    fn dispatch(&mut self, keeps: bool) -> Dispatched {
        let Routing { each_row, routed, sends, sorts, fused, .. } = self.routing;
        let (permuted, mut of_rows, picked) = self.permuted(keeps);
        let player = &mut self.player;
        let mut received = permuted;
        if sends {
            received = player.take("received tokens", routed);
            let sent = player.take("received probabilities", each_row);
            player.free(of_rows);
            of_rows = sent;
        }
        let (mut order, mut input, mut sorted) = (Taken::NOTHING, received, of_rows);
        if sorts {
            order = player.take_if(fused, "order of rows", each_row);
            input = player.take("sorted tokens", routed);
            sorted = player.take("sorted probabilities", each_row);
            if !keeps {
                player.free(order);
            }
        }
        Dispatched { permuted, received, of_rows, order, picked, input, sorted }
    }

    /// Tokens and probabilities in the order of experts (`permute`), and the tensors that
    /// `masked_select` keeps.
    fn permuted(&mut self, keeps: bool) -> (Taken, Taken, [Taken; 2]) {
        let Routing { rows, each_row, routed, scores, fused, .. } = self.routing;
        let player = &mut self.player;
        if fused {
            let map = player.take("rows of tokens", rows);
            let permuted = player.take("permuted tokens", routed);
            let of_rows = player.take("probabilities of rows", each_row);
            self.route_anew(map);
            return (permuted, of_rows, [Taken::NOTHING; 2]);
        }
        // `nonzero` finds row and column of what the map picks, in 64 bits.
        let places = each_row.saturating_mul(4);
        let map = player.take("routing map, transposed", scores / 4);
        let found = player.take("places in the routing map", places);
        let order = player.take("tokens of rows", each_row.saturating_mul(2));
        player.free(found);
        let probabilities = player.take("probabilities, transposed", scores);
        let found = player.take("places in the routing map", places);
        let of_rows = player.take("probabilities of rows", each_row);
        player.free(found);
        let permuted = player.take("permuted tokens", routed);
        player.free_unless(keeps, [probabilities, map]);
        self.route_anew(order);
        (permuted, of_rows, [map, probabilities])
    }

    /// The dispatcher holds the order of tokens until it routes anew.
    fn route_anew(&mut self, order: Taken) {
        let before = self.lasting.routed.get(self.place).map_or(Taken::NOTHING, |routed| routed[2]);
        self.player.free(before);
        self.keep_routed(2, order);
    }

    /// Both grouped products, the activation function between them, and adapters beside: what
    /// experts make, and what of it is kept.
    fn multiplied(&mut self, keeps: bool) -> (Taken, [Taken; 2], [Adapter; 2]) {
        let Routing { routed, up, activated, .. } = self.routing;
        for place in &mut self.lasting.grouped {
            let bytes = self.run.megatron.transformer_engine_workspace.0.saturating_add(1024);
            Lasting::once(place, &mut self.player, "workspace of grouped products", bytes);
        }
        let [passage_up, passage_down] = self.passages();
        let up = self.player.take("activation input", up);
        let (up, of_up) = self.adapted(passage_up, up, keeps);
        let activated = self.player.take("activation output", activated);
        let output = self.player.take("experts' output", routed);
        let (output, of_down) = self.adapted(passage_down, output, keeps);
        let keeps_activated = keeps && self.keeps_input(Matrix::ExpertDown);
        self.player.free_unless(keeps, [up]);
        self.player.free_unless(keeps_activated, [activated]);
        let activated = if keeps_activated { activated } else { Taken::NOTHING };
        (output, [up, activated], [of_up, of_down])
    }

    /// How the adapters of experts, up and down, read and make tokens.
    const fn passages(&self) -> [Passage; 2] {
        let Routing { routed, up, activated, .. } = self.routing;
        let between = Between::Routed;
        [
            Passage { layer: Matrix::ExpertUp, input: routed, output: up, between },
            Passage { layer: Matrix::ExpertDown, input: activated, output: routed, between },
        ]
    }

    /// The router: scores of every expert, and the chosen ones
    /// (`topk_routing_with_score_function`).
    fn route(&mut self, keeps: bool) -> (Taken, Taken) {
        let Routing { wide, weight, scores, chosen, .. } = self.routing;
        let player = &mut self.player;
        let [input, matrix] = [
            player.take("router input in fp32", wide),
            player.take("router weight in fp32", weight),
        ];
        let logits = player.take("router logits", scores);
        player.brief("workspace of cuBLAS", self.workspace);
        player.free_all([input, matrix]);
        let highest = player.take("highest logits", chosen);
        let indices = player.take("chosen experts", chosen.saturating_mul(2));
        let weights = player.take("weights of the chosen", chosen);
        let zeros = player.take("zeros", scores);
        let probabilities = player.take("probabilities", scores);
        player.free(zeros);
        let zeros = player.take("zeros", scores);
        let ones = player.take("ones where chosen", scores);
        player.free(zeros);
        let map = player.take("routing map", scores / 4);
        player.free_all([ones, highest]);
        player.free_unless(keeps, [weights, indices]);
        player.free(logits);
        let before = self.lasting.routed.get(self.place).copied().unwrap_or([Taken::NOTHING; 3]);
        player.free_all([before[0], before[1]]);
        if let Some(leaves) = self.lasting.leaves.get_mut(self.place) {
            player.free_all(std::mem::replace(leaves, [Taken::NOTHING; 2]));
        }
        self.keep_routed(0, probabilities);
        self.keep_routed(1, map);
        // Tokens of each expert are counted in 64 bits.
        let counted = self.player.take("routing map in 64 bits", scores.saturating_mul(2));
        self.player.brief("sums over tokens", scores.saturating_mul(4));
        self.player.free(counted);
        (indices, weights)
    }

    /// The dispatcher holds what it routed last: probabilities, map, rows.
    fn keep_routed(&mut self, which: usize, taken: Taken) {
        while self.lasting.routed.len() <= self.place {
            self.lasting.routed.push([Taken::NOTHING; 3]);
        }
        if let Some(place) =
            self.lasting.routed.get_mut(self.place).and_then(|held| held.get_mut(which))
        {
            *place = taken;
        }
    }

    /// Holds the gradient of a recomputed block's input, and the input, until the block routes
    /// again.
    pub(super) fn keep_leaves(&mut self, place: usize, leaves: [Taken; 2]) {
        while self.lasting.leaves.len() <= place {
            self.lasting.leaves.push([Taken::NOTHING; 2]);
        }
        if let Some(held) = self.lasting.leaves.get_mut(place) {
            self.player.free_all(std::mem::replace(held, leaves));
        }
    }

    /// Backward of it.
    pub(super) fn experts_back(&mut self, experts: &Experts, gradient: &mut Gradient) {
        self.player.enter("Experts");
        let Routing { each_row, routed, up, activated, sends, sorts, fused, .. } = self.routing;
        let player = &mut self.player;
        let mut of_output = player.take("gradient of permuted tokens", routed);
        if sends {
            let sent = player.take("gradient of returned tokens", routed);
            player.free(of_output);
            of_output = sent;
        }
        if sorts {
            let order = player.take_if(fused, "order of rows", each_row);
            let sorted = player.take("gradient of the experts' output", routed);
            player.free_all([order, of_output, experts.back]);
            of_output = sorted;
        }
        let [passage_up, passage_down] = self.passages();
        let [adapter_up, adapter_down] = experts.adapters;
        let frozen = self.is_frozen();
        let of_adapter = self.adapter_back(passage_down, &adapter_down, experts.activated);
        let of_activated = self.player.take("gradient of the activation output", activated);
        self.player.free_all([of_output, if frozen { Taken::NOTHING } else { experts.activated }]);
        let of_activated = self.added(of_adapter, of_activated);
        self.stand_in(Matrix::ExpertDown);
        let player = &mut self.player;
        let of_up = player.take("gradient of the activation input", up);
        let mut of_rows = player.take("gradient of probabilities", each_row);
        player.free_all([
            of_activated,
            experts.up,
            if sorts { experts.of_rows } else { Taken::NOTHING },
        ]);
        let of_adapter = self.adapter_back(passage_up, &adapter_up, experts.input);
        let of_input = self.player.take("gradient of sorted tokens", routed);
        self.player.free_all([of_up, if frozen { Taken::NOTHING } else { experts.input }]);
        let mut of_input = self.added(of_adapter, of_input);
        self.stand_in(Matrix::ExpertUp);
        let player = &mut self.player;
        if sorts {
            let order = player.take_if(fused, "order of rows", each_row);
            let unsorted = player.take("gradient of received tokens", routed);
            let probabilities = player.take("gradient of received probabilities", each_row);
            player.free_all([order, of_rows, of_input, experts.order]);
            (of_input, of_rows) = (unsorted, probabilities);
        }
        if sends {
            let probabilities = player.take("gradient of sent probabilities", each_row);
            player.free(of_rows);
            let sent = player.take("gradient of sent tokens", routed);
            player.free(of_input);
            (of_input, of_rows) = (sent, probabilities);
        }
        let (of_normed, of_probabilities) = self.permuted_back(experts, of_input, of_rows);
        let of_normed = self.route_back(experts, of_normed, of_probabilities);
        self.norm_back(of_normed, experts.residual, experts.statistics, gradient);
    }

    /// Backward of [`Order::permuted`]: gradients of tokens and of probabilities.
    fn permuted_back(
        &mut self,
        experts: &Experts,
        of_input: Taken,
        of_rows: Taken,
    ) -> (Taken, Taken) {
        let Routing { rows, scores, fused, .. } = self.routing;
        let player = &mut self.player;
        if fused {
            let map = player.take("rows of tokens", rows);
            let of_normed = player.take("gradient of the normed residual", self.sizes.hidden);
            let of_probabilities = player.take("gradient of probabilities", scores);
            player.free_all([of_rows, map, of_input]);
            return (of_normed, of_probabilities);
        }
        let of_normed = player.take("gradient of the normed residual", self.sizes.hidden);
        player.free(of_input);
        let of_probabilities = player.take("gradient of probabilities", scores);
        // Sums over the mask in 64 bits (`masked_scatter_`).
        player.brief("places in the mask", scores.saturating_mul(2));
        player.free(of_rows);
        player.free_all(experts.picked);
        (of_normed, of_probabilities)
    }

    /// The gradient of what a layer and its adapter read: the layer's is added to the adapter's,
    /// which came first.
    fn added(&mut self, of_adapter: Taken, of_layer: Taken) -> Taken {
        if of_adapter == Taken::NOTHING {
            return of_layer;
        }
        self.player.free(of_layer);
        of_adapter
    }

    fn route_back(
        &mut self,
        experts: &Experts,
        of_normed: Taken,
        of_probabilities: Taken,
    ) -> Taken {
        let Routing { wide, weight, scores, .. } = self.routing;
        let hidden = self.sizes.hidden;
        let player = &mut self.player;
        player.free_all([of_probabilities, experts.weights]);
        let of_logits = player.take("gradient of router logits", scores);
        player.free(experts.indices);
        let matrix = player.take("router weight in fp32", weight);
        let of_wide = player.take("gradient of the router's input in fp32", wide);
        player.brief("workspace of cuBLAS", self.workspace);
        player.free(matrix);
        let of_input = player.take("gradient of the router's input", hidden);
        player.free(of_wide);
        let input = player.take("router input in fp32", wide);
        let of_wide = player.take("gradient of the router weight in fp32", weight);
        player.brief("workspace of cuBLAS", self.workspace);
        player.free(input);
        let of_weight = player.take("gradient of the router weight", weight / 2);
        player.free_all([of_wide, of_logits, experts.normed]);
        let sum = player.take("gradient of the normed residual", hidden);
        player.free_all([of_normed, of_input, of_weight]);
        sum
    }
}

/// Workspaces of grouped products, one for each stream.
pub(super) const WORKSPACES: usize = {
    assert!(GROUPED_STREAMS == 4, "as many workspaces as streams");
    4
};
