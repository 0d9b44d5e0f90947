//! Steps under Hugging Face's Trainer, peft, TRL and Liger, and DeepSpeed with the loss of transformers 4, against rows of PyTorch's own
//! allocator on a pretended GPU (`tests/data/cuda/frameworks.jsonl`).

use headroom::config::{Loss, OptimizerImplementation, ParallelLayout, TrainingPrecision, TrainingRun};

use super::frameworks::is_near;

#[test]
fn the_loss_of_transformers_4_holds_a_shifted_copy_of_the_logits() {
    let old = |run: &mut TrainingRun, _: &mut ParallelLayout| {
        run.precision = TrainingPrecision::Bf16Mixed;
        (run.optimizer_implementation, run.loss) = (OptimizerImplementation::Fused, Loss::Transformers4);
    };
    for id in ["5d10ef1a2b", "e5b00303b6", "112f37ff8c"] {
        is_near(id, "3", 1_000, old);
    }
}
