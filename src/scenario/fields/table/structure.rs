//! Inputs that only some architectures have: windows, caps, experts, latent attention.

use super::{LENGTH, SIZE, Value, option, optional};
use crate::config::LayerSet;
use crate::models;

fields! { $
    /// Whose modules run the model, by its name in Hugging Face's files: they decide which tensors
    /// are saved for the backward pass.
    Family("fam", "model_type", "Modules")
        .choice(members_as_options!(models::FAMILIES, family => {
            let choice = family.modules().choice;
            let generic = "A decoder put together from the sizes alone: what it saves is assumed.";
            option(choice.word, choice.label, if choice.rank == u16::MAX { generic } else { family.model_type() })
        })).structure(|model| Value::choice(model.family)),
    /// The feed-forward layer's activation function; one written out in several operations saves
    /// more.
    HiddenAct("act", "hidden_act", "Activation")
        .choice(&[
            option("silu", "SiLU", "One operation."),
            option("gelu", "GELU", "One operation."),
            option("gelu-new", "GELU, written out",
                "GPT-2's approximation in eight operations, each of which saves tensors."),
            option("gelu-fast", "GELU, fast form", "Another approximation in several operations."),
            option("quick-gelu", "Quick GELU", "A product and a sigmoid."),
            option("relu", "ReLU", "One operation."),
            option("relu2", "Squared ReLU", "Two operations."),
            option("xielu", "xIELU", "Two learned curvatures; a dozen operations, four of which save tensors."),
        ]).structure(|model| Value::choice(model.hidden_act)),
    /// How much of each head rotary positions turn; empty: all of it. It changes only small
    /// temporaries.
    RotaryDim("rd", "rotary_dim", "Rotated part of a head")
        .whole(1..=100_000).step(8).optional().structure(|model| optional(model.rotary_dim)),
    /// Tokens that sliding layers look back on; it limits their key/value cache. Empty: the whole
    /// text. 4k means 4096.
    SlidingWindow("sw", "sliding_window", "Attention window")
        .tokens(1..=LENGTH).optional().structure(|model| optional(model.sliding_window)),
    /// Which layers look back on the window only: all, all-but-every-6, from-3, or a list counted
    /// from 0 such as 0-2.5.
    SlidingLayers("swl", "sliding_layers", "Layers with a window").layers()
        .structure(|model| Value::Layers(model.sliding_layers.clone())),
    /// Both read the same input and are added together; it changes what is saved a little.
    ParallelResidual("par", "use_parallel_residual", "Attention beside feed-forward")
        .flag().structure(|model| Value::Flag(model.parallel_residual)),
    /// One learned extra score per head; very few parameters.
    AttentionSinks("snk", "attention_sinks", "Attention sinks").flag()
        .structure(|model| Value::Flag(model.attention_sinks)),
    /// Attention's scores are squashed by a tanh; standard attention saves them once more.
    AttentionSoftcap("cap", "attn_logit_softcapping", "Scores capped").flag()
        .structure(|model| Value::Flag(model.attn_logit_softcapping)),
    /// Logits are squashed by a tanh, which keeps one more tensor of the vocabulary's size.
    LogitSoftcap("capl", "final_logit_softcapping", "Logits capped").flag()
        .structure(|model| Value::Flag(model.final_logit_softcapping)),
    /// One number per row of the vocabulary; very few parameters.
    HeadBias("hb", "lm_head_bias", "Bias on the head").flag()
        .structure(|model| Value::Flag(model.lm_head_bias)),
    /// Width of the token embedding where it differs from the hidden size; two projections join
    /// them. Empty: no difference.
    EmbeddingWidth("wp", "word_embed_proj_dim", "Width of the embedding")
        .whole(1..=SIZE).step(128).optional()
        .structure(|model| optional(model.word_embed_proj_dim)),
    /// Grouped key/value heads and a norm each for attention and feed-forward, in Falcon's modules.
    NewDecoder("nd", "new_decoder_architecture", "Falcon's newer decoder").flag()
        .structure(|model| Value::Flag(model.new_decoder_architecture)),
    /// A dense layer over the first token in place of an output head; hidden size squared
    /// parameters.
    Pooler("pl", "pooler", "Pooler").flag().structure(|model| Value::Flag(model.pooler)),
    /// Feed-forward layers that share the tokens among them; all of them take memory. Empty: one
    /// dense layer.
    NumExperts("ex", "num_experts", "Experts").whole(1..=100_000).optional()
        .structure(|model| optional(model.moe.as_ref().map(|moe| moe.num_experts))),
    /// Experts that each token goes through; activations and FLOPs grow in proportion.
    ExpertsPerToken("ept", "num_experts_per_tok", "Experts per token")
        .whole(1..=100_000).step(1).optional()
        .structure(|model| optional(model.moe.as_ref().map(|moe| moe.num_experts_per_tok))),
    /// Inner width of one expert; empty: the feed-forward size.
    ExpertWidth("exf", "moe_intermediate_size", "Width of an expert")
        .whole(1..=SIZE).step(128).optional()
        .structure(|model| optional(model.moe.as_ref().map(|moe| moe.moe_intermediate_size))),
    /// Inner width of all experts together that every token goes through; 0 for none.
    SharedExpertWidth("exs", "shared_expert_intermediate_size", "Width of shared experts")
        .whole(0..=SIZE).step(128).optional()
        .structure(|model| {
            optional(model.moe.as_ref().map(|moe| moe.shared_expert_intermediate_size))
        }),
    /// One number per token that weighs the shared experts' output; few parameters.
    SharedExpertGate("exh", "shared_expert_gate", "Gate on shared experts").flag()
        .structure(|model| {
            Value::Flag(model.moe.as_ref().is_some_and(|moe| moe.shared_expert_gate))
        }),
    /// Which layers have experts; the others keep a dense feed-forward layer.
    ExpertLayers("exl", "moe_layers", "Layers with experts").layers()
        .structure(|model| {
            Value::Layers(model.moe.as_ref().map_or(LayerSet::All, |moe| moe.layers.clone()))
        }),
    /// Groups that a token chooses among first; it changes only the router's small tensors.
    ExpertGroups("exg", "n_group", "Groups of experts")
        .whole(1..=100_000).step(1).optional()
        .structure(|model| optional(model.moe.as_ref().map(|moe| moe.n_group))),
    /// How many groups a token keeps; it changes only the router's small tensors.
    ExpertGroupsKept("exk", "topk_group", "Expert groups chosen")
        .whole(1..=100_000).step(1).optional()
        .structure(|model| optional(model.moe.as_ref().map(|moe| moe.topk_group))),
    /// The chosen experts' weights are made to sum to 1 again; it changes only the router's small
    /// tensors.
    ExpertNorm("ext", "norm_topk_prob", "Router's weights sum to 1").flag()
        .structure(|model| Value::Flag(model.moe.as_ref().is_some_and(|moe| moe.norm_topk_prob))),
    /// A bias on the router and on each expert; few parameters.
    ExpertBias("exb", "expert_bias", "Bias on experts").flag()
        .structure(|model| Value::Flag(model.moe.as_ref().is_some_and(|moe| moe.bias))),
    /// Routed experts read and make so many numbers of a token: a matrix brings it there, and
    /// another one back. Empty: as many as the model has.
    ExpertLatent("exw", "moe_latent_size", "Width before experts")
        .whole(1..=SIZE).step(128).optional()
        .structure(|model| {
            optional(model.moe.as_ref().map(|moe| moe.latent).filter(|width| *width > 0))
        }),
    /// Latent attention: width of the compressed keys and values, which is what the cache keeps.
    /// Empty: no latent attention.
    KvLoraRank("lat", "kv_lora_rank", "Latent key/value width")
        .whole(1..=SIZE).step(64).optional()
        .structure(|model| optional(model.mla.as_ref().map(|mla| mla.kv_lora_rank))),
    /// Latent attention: width of the compressed query; empty: queries are made directly.
    QLoraRank("latq", "q_lora_rank", "Latent query width")
        .whole(1..=SIZE).step(64).optional()
        .structure(|model| optional(model.mla.as_ref().and_then(|mla| mla.q_lora_rank))),
    /// Latent attention: rotated part of a query or key head, cached once for all heads.
    QkRopeHeadDim("latr", "qk_rope_head_dim", "Rotated head part")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.mla.as_ref().map(|mla| mla.qk_rope_head_dim))),
    /// Latent attention: unrotated part of a query or key head.
    QkNopeHeadDim("latn", "qk_nope_head_dim", "Unrotated head part")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.mla.as_ref().map(|mla| mla.qk_nope_head_dim))),
    /// Latent attention: width of a value head.
    VHeadDim("latv", "v_head_dim", "Value head size")
        .whole(1..=100_000).step(8).optional()
        .structure(|model| optional(model.mla.as_ref().map(|mla| mla.v_head_dim))),
}
