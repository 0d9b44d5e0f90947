//! Embedding, final norm, output layer and loss.

use super::sizes::Sizes;
use super::{Batch, Gradient, Head, Lasting, Order, Taken};
use crate::config::LossFusion;

impl Order<'_> {
    /// A micro-batch from the data loader: token ids, their positions, labels and which of them
    /// count.
    pub(super) fn batch(&mut self) -> Batch {
        let Sizes { ids, each, .. } = self.sizes;
        self.player.enter("Data loader");
        let [tokens, positions, labels] =
            ["token ids", "positions", "labels"].map(|name| self.player.take(name, ids));
        Batch { tokens, positions, labels, counts: self.player.take("which labels count", each) }
    }

    /// Looks up the embedding (`VocabParallelEmbedding`): the residual stream, and what backward
    /// needs of the ids.
    pub(super) fn embed(&mut self) -> (Taken, [Taken; 2]) {
        let Sizes { hidden, whole, split, ids, mask, .. } = self.sizes;
        self.player.enter("Embedding");
        let ids_of_rank = if self.job.layout().t() > 1 {
            let masks = ["below", "above", "tokens of other ranks"]
                .map(|name| self.player.take(name, mask));
            self.player.free_all([masks[0], masks[1]]);
            let shifted = self.player.take("shifted ids", ids);
            let own = self.player.take("ids on this rank", ids);
            self.player.free(shifted);
            [own, masks[2]]
        } else {
            [Taken::NOTHING; 2]
        };
        let looked_up = self.player.take("embedding", whole);
        if !split {
            return (looked_up, ids_of_rank);
        }
        let part = self.player.take("this rank's part of the sum", hidden);
        self.player.free(looked_up);
        let copy = self.player.take("embedding, apart", hidden);
        self.player.free(part);
        (copy, ids_of_rank)
    }

    /// Angles of rotary positions: computed once and kept.
    pub(super) fn angles(&mut self) {
        if self.sizes.rotates {
            self.player.enter("Rotary positions");
            Lasting::once(&mut self.lasting.angles, &mut self.player, "angles", self.sizes.angles);
        }
    }

    /// Backward of the embedding; the gradient of its weight joins that of a tied head.
    pub(super) fn embed_back(
        &mut self,
        [ids_of_rank, mask]: [Taken; 2],
        gradient: Gradient,
        head: Taken,
    ) {
        let Sizes { whole, ids, split, partial, .. } = self.sizes;
        self.player.enter("Embedding");
        let mut residual = gradient.owned();
        if split {
            let gathered = self.player.take("gathered gradient", whole);
            self.player.free(residual);
            residual = gathered;
        }
        if self.job.layout().t() > 1 {
            let masked = self.player.take("gradient of tokens on this rank", whole);
            self.player.free_all([residual, mask]);
            residual = masked;
        }
        let indices = ["sorted tokens", "places of sorted tokens", "places"]
            .map(|name| self.player.take(name, ids));
        self.player.free(indices[2]);
        let of_weight = self.player.take("gradient of the embedding", self.weights.embedding);
        let parts = ["parts of each token", "parts before each token"]
            .map(|name| self.player.take(name, ids));
        let begins = self.player.take("where each part begins", ids.saturating_add(ids / 10));
        self.player.brief("partial sums of the embedding", partial);
        self.player.free_all([
            begins,
            parts[1],
            parts[0],
            indices[1],
            indices[0],
            residual,
            ids_of_rank,
        ]);
        let tied = self.job.model().tie_word_embeddings && self.stage.ends();
        if tied && head == Taken::NOTHING {
            // The sum with what stands for the head's gradient, which is not written over.
            let sum = self.player.take("gradient of the tied weight", self.weights.embedding);
            self.player.free_all([of_weight, sum]);
        } else {
            self.player.free_all([of_weight, head]);
        }
    }

    /// Final norm, output layer, cross-entropy and the loss.
    pub(super) fn head(&mut self, input: Taken, batch: &mut Batch) -> Head {
        let Sizes { logits, each, ids, mask, .. } = self.sizes;
        self.player.enter("Final norm");
        let (normed, statistics) = self.norm("normed output", true);
        self.player.enter("Output layer");
        let frozen = self.is_frozen();
        let whole = if frozen { self.gathered_gradient() } else { Taken::NOTHING };
        if !frozen {
            self.gather_input();
        }
        let of_vocabulary = self.multiply("logits", logits);
        self.player.free(whole);
        self.player.enter("Cross-entropy");
        let player = &mut self.player;
        let fusion = self.run.megatron.cross_entropy_loss_fusion;
        let softmax = match fusion {
            LossFusion::TransformerEngine => Taken::NOTHING,
            LossFusion::None | LossFusion::Native => {
                player.take("logits in fp32, then their softmax", logits.saturating_mul(2))
            }
        };
        let most = player.take("largest logit of each token", each);
        let masked = player.take("labels of other ranks", mask);
        let own = player.take("labels on this rank", ids);
        let values = player.take("logits of the labels and sums", each.saturating_mul(2));
        if fusion == LossFusion::Native {
            // The compiled function writes into its argument and returns what it wrote, from a
            // copy.
            player.brief("exponentials of the logits", logits.saturating_mul(2));
        }
        let loss = player.take("loss of each token", each);
        player.free_all([most, values]);
        if fusion != LossFusion::TransformerEngine {
            player.free(of_vocabulary);
        }
        player.free_all([batch.positions, batch.labels]);
        player.brief("losses that count", each);
        player.free(loss);
        [batch.positions, batch.labels] = [Taken::NOTHING; 2];
        // A frozen output layer does not keep its input.
        let normed = if frozen {
            player.free(normed);
            Taken::NOTHING
        } else {
            normed
        };
        let kept = if fusion == LossFusion::TransformerEngine { of_vocabulary } else { softmax };
        Head { input, normed, statistics, kept, labels: [masked, own] }
    }

    /// Backward of all that: the gradient of the last block's output, and of a tied weight.
    pub(super) fn head_back(&mut self, head: &Head, batch: &mut Batch) -> (Gradient, Taken) {
        let Sizes { logits, each, hidden, whole, split, .. } = self.sizes;
        self.player.enter("Cross-entropy");
        let player = &mut self.player;
        let of_loss = player.take("gradient of each token's loss", each);
        player.free(batch.counts);
        batch.counts = Taken::NOTHING;
        let of_logits = match self.run.megatron.cross_entropy_loss_fusion {
            LossFusion::Native => {
                let wide = player.take("gradient of the logits in fp32", logits.saturating_mul(2));
                let cast = player.take("gradient of the logits", logits);
                player.free_all([wide, of_loss, head.kept]);
                cast
            }
            LossFusion::None => {
                player.free(of_loss);
                let cast = player.take("gradient of the logits", logits);
                player.free(head.kept);
                cast
            }
            LossFusion::TransformerEngine => {
                player.free(of_loss);
                head.kept
            }
        };
        player.free_all(head.labels);
        self.player.enter("Output layer");
        let of_normed = self.multiply("gradient of the normed output", whole);
        let of_local = self.player.take_if(split, "gradient of the normed output", hidden);
        let of_weight = self.head_gradient();
        let normed = if split { (of_normed, of_local) } else { (Taken::NOTHING, of_normed) };
        self.player.free_all([normed.0, of_logits, head.normed]);
        let tied = self.job.model().tie_word_embeddings && self.stage.embeds();
        if !tied {
            self.player.free(of_weight);
        }
        self.player.enter("Final norm");
        let mut gradient = Gradient::NONE;
        self.norm_back(normed.1, head.input, head.statistics, &mut gradient);
        (gradient, if tied { of_weight } else { Taken::NOTHING })
    }
}
