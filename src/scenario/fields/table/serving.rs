//! Serving: requests, the server's rule for memory, and what only serving asks about formats and
//! layout.

use super::{FieldDefault, Group, LENGTH, option};
use crate::engines::Engine;

fields! { $
    /// Tokens of prompt and answer kept for each sequence; the key/value cache grows in proportion.
    /// 4k means 4096.
    ContextLength("ctx", "context_length", "Context length")
        .tokens(1..=LENGTH).group(Group::Run).serve().default(FieldDefault::Integer(8192)),
    /// Requests that one replica serves at the same time; the key/value cache grows in proportion.
    ConcurrentSequences("seqs", "max_num_seqs", "Requests per replica")
        .whole(1..=1_000_000).step(1).unit("requests").group(Group::Run).serve()
        .default(FieldDefault::Integer(16)),
    /// Requests that find no room wait, as servers let them: their number is the most at a time,
    /// and as many run as find room, at least one.
    OthersWait("wait", "others_wait", "Others wait")
        .flag().group(Group::Run).serve().folded().default(FieldDefault::Flag(false)),
    /// Tokens of prompts processed at once; temporary activations grow in proportion. 4k means
    /// 4096.
    PrefillChunkSize("pf", "max_num_batched_tokens", "Prefill chunk")
        .tokens(1..=LENGTH).group(Group::Run).serve().folded().default(FieldDefault::Integer(2048)),
    /// Tokens of a prompt, for the time to the first token; empty: the whole context. 4k means
    /// 4096.
    PromptLength("in", "prompt_tokens", "Prompt")
        .tokens(1..=LENGTH).optional().group(Group::Run).serve().folded()
        .default(FieldDefault::Empty),
    /// Tokens at the start that all sequences have in common: prefix caching keeps whole blocks of
    /// them once. 4k means 4096.
    SharedPrefix("pre", "prefix_tokens", "Shared prefix")
        .tokens(0..=LENGTH).group(Group::Run).serve().folded().default(FieldDefault::Integer(0)),
    /// Tokens that a sequence holds in the mean, for how many find room at once; empty: as long as
    /// the context. 4k means 4096.
    MeanTokens("len", "mean_tokens", "Mean sequence")
        .tokens(1..=LENGTH).optional().group(Group::Run).serve().folded()
        .default(FieldDefault::Empty),
    /// Tokens that 95 of 100 sequences do not exceed; empty: as many as the mean. 4k means 4096.
    TailTokens("lenp", "p95_tokens", "95 of 100 sequences")
        .tokens(1..=LENGTH).optional().group(Group::Run).serve().folded()
        .default(FieldDefault::Empty),
    /// Users whose requests are served at the same time by all replicas together: how many GPUs
    /// they need, how fast and at what price. Empty: not asked.
    Users("usr", "users", "Users in total")
        .whole(1..=1_000_000_000).optional().group(Group::Run).serve().default(FieldDefault::Empty),
    /// By which rule memory is taken for the key/value cache: tokens, blocks and concurrency come
    /// out as that program prints them.
    Server("srv", "engine", "Inference engine")
        .choice(members_as_options!(Engine::SPECS)).group(Group::Run).serve()
        .default(FieldDefault::Choice(Engine::SPECS[0].key)),
    /// The engine's share of memory.
    MemoryUtilization("gmu", "", "").memory_share(),
    /// The engine's share of memory.
    StaticFraction("mfs", "", "").memory_share(),
    /// The engine's share of memory.
    FreeFraction("fgf", "", "").memory_share(),
    /// Tokens that the cache is handed out in; empty: the server's own.
    BlockSize("bs", "block_size", "Cache block")
        .whole(1..=65_536).unit("tokens").optional().group(Group::Reserve).serve().folded()
        .default(FieldDefault::Empty),
    /// Memory of captured graphs: an assumption, often 0.3 to 1 GiB; 0 counts none.
    CudaGraphs("cg", "cuda_graphs", "CUDA graphs")
        .number(0.0..=1000.0).unit("GiB").group(Group::Reserve).serve().folded()
        .default(FieldDefault::Decimal(0.0)),
    /// Speculative decoding: a quick draft proposes tokens, and the model checks all of them in one
    /// step. Its weights and cache come on top, and a step gives more than one token.
    Drafts("spd", "speculative_method", "Speculative decoding")
        .choice(&[
            option("none", "none", "A step gives one token."),
            option("draft-model", "a draft model", "A smaller model of the same vocabulary proposes; it has weights and a cache of its own."),
            option("mtp", "the model's own MTP layer", "One more layer like the model's last one, which some models are published with (multi-token prediction)."),
            option("eagle", "an EAGLE head", "One layer trained on the model's last hidden states; it shares embedding and head with the model."),
            option("eagle3", "an EAGLE-3 head", "One layer trained on hidden states of three layers, with a head for 32,000 tokens of its own."),
        ])
        .group(Group::Run).serve().folded().default(FieldDefault::Choice("none")),
    /// The draft model: a name of the list of models, such as Llama 3.2 1B.
    DraftModel("sdm", "speculative_model", "Draft model")
        .text(64).group(Group::Run).serve().folded().default(FieldDefault::Text("")),
    /// Format of the draft model's weights; heads have 16 bits, and the model's own layer has its
    /// format.
    DraftWeights("sdf", "draft_quantization", "Draft weights")
        .choice(&[
            option("16-bit", "16 bits", "Two bytes for each weight, as published."),
            option("as-model", "as the model's", "The format that the model's weights have."),
        ])
        .group(Group::Run).serve().folded().default(FieldDefault::Choice("16-bit")),
    /// Tokens that the draft proposes for each sequence in every step; the model checks them and
    /// the one before.
    DraftTokens("sdk", "num_speculative_tokens", "Drafted tokens")
        .whole(1..=64).step(1).unit("tokens").group(Group::Run).serve().folded()
        .default(FieldDefault::Integer(3)),
    /// Share of drafted tokens that the model accepts, each on its own; it depends on the texts.
    /// Empty: an assumption, 65 for a draft model, 85 for the model's own layer, 75 for EAGLE.
    Acceptance("sda", "acceptance_rate", "Accepted drafts")
        .number(0.0..=100.0).optional().unit("%").group(Group::Run).serve().folded()
        .default(FieldDefault::Empty),
    /// Low-rank adapters that are on the GPU at once (vLLM): each slot takes memory as an adapter
    /// of the largest rank beside every linear layer does, whatever is loaded; 0: none.
    AdapterSlots("als", "max_loras", "Adapter slots")
        .whole(0..=4096).step(1).group(Group::Run).serve().folded().default(FieldDefault::Integer(0)),
    /// The largest rank of an adapter in a slot.
    SlotRank("alr", "max_lora_rank", "Rank of a slot")
        .whole(1..=4096).group(Group::Run).serve().folded().default(FieldDefault::Integer(16)),
    /// Weights that share a scale and a zero point under GPTQ and AWQ; other formats have their
    /// own.
    GroupSize("grp", "group_size", "Weights per scale")
        .whole(8..=65_536).group(Group::Precision).serve().folded()
        .default(FieldDefault::Integer(128)),
    /// Tensor ranks hold whole experts instead of a part of each.
    WholeExperts("eep", "enable_expert_parallel", "Whole experts")
        .flag().group(Group::Layout).serve().folded().default(FieldDefault::Flag(false)),
    /// With whole experts: each GPU keeps a part of the tokens and sends them to their experts
    /// (SGLang's DeepEP); otherwise all GPUs have all tokens.
    TokensSent("ata", "moe_a2a_backend", "Tokens sent to experts")
        .flag().group(Group::Layout).serve().folded().default(FieldDefault::Flag(false)),
}
