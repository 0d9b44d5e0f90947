//! Places where a document's printed numbers do not follow from its own formulas, for the page to
//! show.
//!
//! The sentences are neutral and short; each method's own file says how it computes its figures.

/// One place in one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DocumentError {
    /// Id of the method, as in [`super::MethodAnswer::id`].
    pub document: &'static str,
    /// Section or heading of the document.
    pub place: &'static str,
    /// The figure or formula that is printed there.
    pub printed: &'static str,
    /// The result of the document's own formula, or the right value.
    pub recomputed: &'static str,
    /// The reason, one sentence.
    pub sentence: &'static str,
}

const fn error(
    document: &'static str,
    place: &'static str,
    printed: &'static str,
    recomputed: &'static str,
    sentence: &'static str,
) -> DocumentError {
    DocumentError { document, place, printed, recomputed, sentence }
}

/// Returns the entries of one document.
pub fn of(document: &str) -> impl Iterator<Item = &'static DocumentError> {
    TABLE.iter().filter(move |entry| entry.document == document)
}

/// All entries, in the documents' order.
pub static TABLE: &[DocumentError] = &[
    error(
        JU,
        "1, item 4",
        "d_model · 4096 · 32000",
        "4096 · 32000",
        "The product for the output layer names the width twice; the 131 million are right.",
    ),
    error(
        JU,
        "2.4",
        "173 billion elements",
        "173.95 billion",
        "The number is cut off instead of rounded.",
    ),
    error(
        JU,
        "2.4",
        "attention (under 2·B·s·d_interm)",
        "MLP",
        "The brace labels the MLP term as attention; section 4.1.2 has it right.",
    ),
    error(
        JU,
        "2.4",
        "68 GB",
        "73.01 GB",
        "68 is the value in GiB, while the 275 next to it is in decimal GB.",
    ),
    error(JU, "2.4", "343 GB per block", "347.89 GB", "It adds 68 GiB to 275 GB."),
    error(
        JU,
        "3.2.1",
        "924 GPUs",
        "935, and none can run",
        "Activations were rounded to 11,000 GB; at most 128 ranks can share 128 sequences, and one \
         sequence needs 86.97 GB.",
    ),
    error(
        JU,
        "3.2.2",
        "423 GPUs",
        "432, and none can run",
        "Optimizer and gradients are left out of the division, and the quotient is rounded down.",
    ),
    error(
        JU,
        "3.2.3",
        "275 GPUs",
        "282, and none can run",
        "The model states are left out of the division.",
    ),
    error(
        JU,
        "4.1.2",
        "340 GB and 590 GB",
        "343.60 GB and 593.04 GB",
        "Both follow from the 343 GB that mixes units.",
    ),
    error(
        JU,
        "4.1.2",
        "15 GPUs",
        "16",
        "15 does not divide 128: one rank would hold 9 sequences and need 41.29 GB of 40 GB.",
    ),
    error(JU, "4.2", "64 GB and 314 GB", "68.72 GB and 318.16 GB", "64 is the value in GiB."),
    error(
        JU,
        "4.2",
        "SRAM of 19 MB",
        "20.25 MiB",
        "19 TB/s is the bandwidth of that memory; its size is 108 times 192 KiB.",
    ),
    error(
        JU,
        "4.2",
        "memory traffic O(s)",
        "O(s² d² / M)",
        "FlashAttention needs extra memory of O(s); its memory traffic still grows with s².",
    ),
    error(
        JU,
        "3.2.3",
        "L := L + 1 in backward",
        "L := L − 1",
        "The backward loop runs from the last layer to the first.",
    ),
    error(
        JU,
        "5",
        "4 bytes for 8-bit Adam",
        "6 bytes",
        "With the fp32 master copy that the document counts the sum is 4 + 1 + 1.",
    ),
    error(
        JU,
        "5",
        "half of 64 GB with INT8 MLP activations",
        "51.54 GB",
        "Only half of the 68.72 GB belongs to the MLP; halving that part leaves 51.54 GB.",
    ),
    error(
        ELEUTHER,
        "Optimizer States",
        "4 + 4 + 12 = 20 bytes in pure fp32",
        "16 bytes",
        "The 12 bytes of AdamW hold an fp32 copy that fp32 weights do not need.",
    ),
    error(
        ELEUTHER,
        "3D Parallelism",
        "gradients / p",
        "gradients / (t·p)",
        "A tensor rank has gradients of its own weights only.",
    ),
    error(
        ELEUTHER,
        "Sharded Optimizers + 3D Parallelism",
        "activations / t",
        "divided once",
        "The activation formula already contains t, so the last formula divides twice.",
    ),
    error(
        ELEUTHER,
        "Sharded Optimizers",
        "divided by No. GPUs",
        "divided by data-parallel ranks",
        "The sentence below the formulas says DP degree; both agree only without tensor and \
         pipeline parallelism.",
    ),
    error(
        ELEUTHER,
        "Total Inference Memory",
        "20 % overhead, given twice",
        "20 % once",
        "The same overhead is named for the weights and for inference.",
    ),
    error(
        CAPACITY,
        "The $2 Million Mistake",
        "1.4 TB of Adam states",
        "2.1 TB",
        "1.4 TB is 8 bytes per parameter; the document's own rule is 12.",
    ),
    error(
        CAPACITY,
        "The $2 Million Mistake",
        "700 GB of gradients",
        "350 GB",
        "700 GB is fp32; the document counts bf16 gradients.",
    ),
    error(
        CAPACITY,
        "The $2 Million Mistake",
        "600 GB of activations",
        "82.14 GB per sequence",
        "No whole number of sequences gives 600 GB by any of its formulas.",
    ),
    error(
        CAPACITY,
        "The $2 Million Mistake",
        "accurate to within 5 %",
        "up to 71 % off",
        "Its own 4-bit serving total is 71 % below what its formulas give.",
    ),
    error(
        CAPACITY,
        "The Fundamental Tension",
        "GPT-2: 3 GB, GPT-3: 350 GB in fp32",
        "6 GB and 700 GB",
        "Both are the fp16 sizes.",
    ),
    error(
        CAPACITY,
        "The Fundamental Tension",
        "8 to 16 GPUs for LLaMA-2-70B",
        "2",
        "140 GB of weights fit on two 80 GB GPUs.",
    ),
    error(
        CAPACITY,
        "The Tipping Point",
        "months on 1024 A100",
        "29.7 days",
        "6PD at 120 TFLOP/s takes about a month; the first question names 1024 V100 instead.",
    ),
    error(
        CAPACITY,
        "The Tipping Point",
        "3 to 8 times less with ZeRO",
        "4 to 8 times",
        "The limit of stage 1 is 4; 3 is reached at 9 ranks.",
    ),
    error(
        CAPACITY,
        "Component 1",
        "weights are the smallest part of training",
        "activations are",
        "In its own example activations are smaller and gradients are equal.",
    ),
    error(
        CAPACITY,
        "Component 3",
        "optimizer 7 times the weights",
        "6 times",
        "7 counts the working copy, which is the weights themselves.",
    ),
    error(
        CAPACITY,
        "Component 3, table",
        "fp32 column: 16 bytes",
        "12 bytes",
        "16 is the sum of both columns.",
    ),
    error(
        CAPACITY,
        "Component 4",
        "34·b·s·h·L within 20 %",
        "70 % low at s = 2048",
        "The attention matrices are 80 of 114 bytes there; within 20 % only without them.",
    ),
    error(
        CAPACITY,
        "Component 4",
        "checkpointing saves 34 times, or about 10",
        "17 times",
        "34 bytes against 2; the third question says 17.",
    ),
    error(
        CAPACITY,
        "Component 5",
        "43 GB nearly fill an H100",
        "54 % of it",
        "80 GB is the card's memory.",
    ),
    error(
        CAPACITY,
        "Component 5",
        "vLLM pages of 4 KB",
        "5.24 MB for 16 tokens",
        "vLLM counts its blocks in tokens, 16 by default.",
    ),
    error(
        CAPACITY,
        "compute_training_memory",
        "activations 34.4 GB",
        "85.9 GB",
        "34.4 belongs to 64 layers and one factor of 2; the program prints 85.9, and its text's \
         formula gives 42.9.",
    ),
    error(
        CAPACITY,
        "compute_training_memory",
        "1154.4 GB, 1269.9 GB, 15.9 GPUs",
        "1205.9 GB, 1326.5 GB, 16.6 GPUs",
        "They follow from the 34.4 GB.",
    ),
    error(
        CAPACITY,
        "compute_training_memory",
        "next power of two 16",
        "32",
        "The code cuts 15.6 to 15 before it counts bits; 16 cards hold 1280 GB of the 1326.5 GB \
         needed.",
    ),
    error(
        CAPACITY,
        "compute_inference_memory",
        "buffer 0.42 GB, total 288.9 GB",
        "0.52 GB, 288.5 GB",
        "0.42 belongs to 64 layers.",
    ),
    error(
        CAPACITY,
        "compute_inference_memory",
        "10 users on 2 H100",
        "161.1 GB, 3 H100",
        "Its own function gives 2.01 GPUs.",
    ),
    error(
        CAPACITY,
        "Tensor Parallelism",
        "optimizer and gradients not reduced",
        "divided by t",
        "Each tensor rank optimizes its own shard.",
    ),
    error(
        CAPACITY,
        "memory_budget",
        "ZeRO-3 on 16 GPUs",
        "256 GPUs",
        "TP 8 × PP 2 × DP 16 is 256.",
    ),
    error(
        CAPACITY,
        "memory_budget",
        "just fits 80 GB",
        "88.8 GB",
        "Its code gives 88.8 GB; with half the activations and no overhead 75.4 GB fit.",
    ),
    error(
        CAPACITY,
        "Quantization",
        "KV cache 13.4 GB for 100 users",
        "134.2 GB",
        "13.4 GB is the cache of ten users.",
    ),
    error(
        CAPACITY,
        "Quantization",
        "50.8 GB on one H100",
        "178.2 GB on three",
        "It follows from ten users' cache and buffer.",
    ),
    error(
        CAPACITY,
        "Common Mistakes",
        "8192 tokens double activations",
        "3.65 times",
        "Stored attention matrices grow with s²; it doubles only without them.",
    ),
    error(
        CAPACITY,
        "Question 1",
        "2,810 GB = 2.74 TB",
        "2.81 TB",
        "2.74 comes from dividing decimal GB by 1024.",
    ),
    error(CAPACITY, "Question 1", "40 GPUs as a power of two", "64", "40 is not a power of two."),
    error(
        CAPACITY,
        "Question 4",
        "vLLM pages of 4096 bytes",
        "5.24 MB for 16 tokens",
        "vLLM counts its blocks in tokens, 16 by default.",
    ),
    error(
        CAPACITY,
        "Question 5",
        "buffer 0.5 GB at batch 1000",
        "5.24 GB",
        "0.5 GB belongs to batch 100.",
    ),
    error(
        CAPACITY,
        "Question 5",
        "14 GPUs",
        "16",
        "14 divides neither heads nor layers evenly, and the overhead used before is left out.",
    ),
    error(
        CAPACITY,
        "Question 5",
        "1,080 GB left of 1,280 GB",
        "1,140 GB, or 720 GB",
        "1,280 − 140 is 1,140; with the stated TP = 4 there are four copies of the weights and 720 \
         GB remain.",
    ),
    error(
        CAPACITY,
        "Question 5",
        "800 sessions of 8K",
        "402",
        "One session takes 2.684 GB of 1,080 GB.",
    ),
    error(
        OVERVIEW,
        "7.2, table",
        "rows add up to 34",
        "38",
        "The MLP's up-projection and the GeLU input are the same tensor, and two inputs of 2 bytes \
         are missing.",
    ),
    error(
        OVERVIEW,
        "7.2, table",
        "attention scores before softmax",
        "dropout output",
        "The sum of 5 is right, but Korthikanti keeps softmax output, mask and dropout output.",
    ),
    error(
        OVERVIEW,
        "7.3",
        "quadratic term dominates from 2k to 4k",
        "870 tokens",
        "With heads of 128 both terms are equal at 6.8 · head_dim.",
    ),
    error(
        OVERVIEW,
        "11",
        "selective recomputation saves 70 %",
        "70 % for GPT-3 only",
        "The share depends on a·s/h: 82.5 % for the first document's model.",
    ),
    error(
        SOLENYA,
        "2.1.1",
        "mixed precision costs slightly more",
        "50 % more",
        "Weights and gradients take 12 bytes instead of 8, with Adam 20 instead of 16.",
    ),
    error(
        SOLENYA,
        "2.1.1",
        "an fp32 copy of the gradients",
        "an option",
        "Only some libraries keep it; the other documents count 16 bytes per parameter.",
    ),
    error(
        SOLENYA,
        "2.2.1",
        "positions for the training length s",
        "for the longest sequence",
        "A learned table has a row per position that the model was made for.",
    ),
    error(
        SOLENYA,
        "3",
        "1 byte for 8-bit Adam",
        "2 bytes",
        "bitsandbytes keeps two moments of one byte each.",
    ),
];

const JU: &str = "ju-2026";
const ELEUTHER: &str = "eleuther";
const CAPACITY: &str = "capacity-planning";
const OVERVIEW: &str = "distributed-overview";
const SOLENYA: &str = "solenya";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_has_entries_and_sentences_end() {
        for document in [JU, ELEUTHER, CAPACITY, OVERVIEW, SOLENYA] {
            assert!(of(document).count() > 0, "{document}");
        }
        assert_eq!(
            TABLE.len(),
            [JU, ELEUTHER, CAPACITY, OVERVIEW, SOLENYA]
                .map(|document| of(document).count())
                .iter()
                .sum::<usize>()
        );
        for entry in TABLE {
            assert!(entry.sentence.ends_with('.'), "{}", entry.sentence);
            assert_ne!(entry.printed, entry.recomputed);
        }
    }
}
