//! Fine-tuning: what learns, from what, and the models beside it.

use super::{FieldDefault, Group, LENGTH, option};

fields! { $
    /// The examples, preferences or rewards that the model learns from decide which models share
    /// the memory.
    Objective("obj", "objective", "Training method")
        .choice(&[
            option("sft", "Examples (SFT)",
                "The next token of example texts, packed or padded to the sequence length."),
            option("dpo", "Preferences (DPO)",
                "Two answers at once for each of the batch, and a reference model."),
            option("reward", "Preferences (reward model)",
                "Two answers at once; one number in place of scores for every token."),
            option("ppo", "Rewards (PPO)",
                "A critic that learns too, reference and reward models, and an engine that generates. Time counts the model's own passes only."),
            option("grpo", "Rewards (GRPO)",
                "A reference model and an engine that generates; no critic. Time counts the model's own passes only."),
        ]).group(Group::Run).tune().default(FieldDefault::Choice("sft")),
    /// Parameters that do not learn need no gradients and no optimizer states, and their inputs are
    /// not saved.
    Method("ft", "peft_type", "Trainable weights")
        .choice(&[
            option("full", "All parameters",
                "As in training: gradients and optimizer states for every parameter."),
            option("lora", "LoRA", "Small matrices beside frozen linear layers."),
            option("qlora", "QLoRA",
                "LoRA beside weights of 4 bits, which are made whole for each product."),
            option("lora8", "LoRA, 8-bit weights",
                "LoRA beside weights of 8 bits, which products read as such."),
            option("dora", "DoRA",
                "LoRA with a magnitude for every column; the adapted weight is made in each pass."),
            option("prompt", "Prompt tuning",
                "Embedded tokens before every text, beside a frozen model."),
            option("prefix", "Prefix tuning",
                "Keys and values before those of the text in every layer, beside a frozen model."),
        ]).group(Group::Run).tune().default(FieldDefault::Choice("lora")),
    /// Inner width of adapters: their parameters, gradients and states grow in proportion.
    Rank("r", "r", "Rank of adapters")
        .whole(1..=65_536).group(Group::Run).tune().default(FieldDefault::Integer(16)),
    /// Scales what adapters add; memory does not depend on it.
    LoraAlpha("la", "lora_alpha", "Alpha")
        .number(0.0..=1_000_000.0).group(Group::Run).tune().folded()
        .default(FieldDefault::Decimal(32.0)),
    /// Adapters on queries.
    AdaptQuery("aq", "target_modules.q_proj", "Adapters on queries").adapter(),
    /// Adapters on keys.
    AdaptKey("ak", "target_modules.k_proj", "Adapters on keys").adapter(),
    /// Adapters on values.
    AdaptValue("av", "target_modules.v_proj", "Adapters on values").adapter(),
    /// Adapters on attention's output.
    AdaptOutput("ao", "target_modules.o_proj", "Adapters on attention's output").adapter(),
    /// Adapters on the gate.
    AdaptGate("ag", "target_modules.gate_proj", "Adapters on the gate").adapter(),
    /// Adapters on feed-forward up.
    AdaptUp("au", "target_modules.up_proj", "Adapters on feed-forward up").adapter(),
    /// Adapters on feed-forward down.
    AdaptDown("ad", "target_modules.down_proj", "Adapters on feed-forward down").adapter(),
    /// Adapters on every other linear layer of the blocks: projections of states, gates and
    /// indexers, which peft's `all-linear` finds as well.
    AdaptOthers("ax", "target_modules.others", "Adapters on other linear layers")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// A copy of the embedding learns beside the adapters, and the original stays.
    SaveEmbedding("sve", "modules_to_save.embed_tokens", "The embedding learns")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// A copy of the output head learns beside the adapters, and the original stays.
    SaveHead("svh", "modules_to_save.lm_head", "The head learns")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// A learned prompt: so many embedded tokens stand before every text, which is that much
    /// longer. Prefix tuning: so many keys and values in every layer.
    VirtualTokens("nvt", "num_virtual_tokens", "Learned tokens")
        .whole(1..=1_000_000).step(1).unit("tokens").group(Group::Run).tune().folded()
        .default(FieldDefault::Integer(20)),
    /// Above 0, every adapter keeps its input after dropout and a mask.
    LoraDropout("ld", "lora_dropout", "Dropout before adapters")
        .number(0.0..=0.99).group(Group::Run).tune().folded().default(FieldDefault::Decimal(0.0)),
    /// peft makes adapters fp32 unless told otherwise; their inputs are then copied to fp32.
    /// Megatron-LM casts them to the format of the weights.
    AdapterDType("adt", "autocast_adapter_dtype", "Format of adapters")
        .choice(&[
            option("fp32", "fp32", "4 bytes per value, for gradients and each state as well."),
            option("weights", "Same as the weights", "In the format of the weights beside them."),
        ]).group(Group::Run).tune().folded().default(FieldDefault::Choice("fp32")),
    /// QLoRA: scales of the 4-bit weights take 8 bits instead of 32.
    DoubleQuant("dq", "bnb_4bit_use_double_quant", "Double quantisation")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(true)),
    /// QLoRA: experts take 4 bits as well; those of a layer are made whole in each pass (axolotl).
    PackExperts("pxe", "quantize_moe_experts", "Experts in 4 bits")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// QLoRA: norms, embedding and head are copied into fp32 (peft), and so is what flows between
    /// blocks.
    PrepareKbit("kbt", "prepare_model_for_kbit_training", "Rest of the model in fp32")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// PyTorch casts what matrix products read to bf16 and leaves weights as they are: fp32
    /// adapters keep their input in 16 bits (bf16 in Hugging Face's Trainer).
    Autocast("ac", "bf16", "Autocast to bf16")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// Optimizer states of large tensors live in pages that move to the host when memory is short.
    PagedOptimizer("pag", "paged_optimizer", "Paged optimizer")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// So many of the first layers do not learn, when parameters of the model learn.
    FrozenLayers("fzl", "frozen_layers", "Frozen layers")
        .whole(0..=10_000).step(1).group(Group::Run).tune().folded()
        .default(FieldDefault::Integer(0)),
    /// Embeddings do not learn, when parameters of the model learn.
    FrozenEmbeddings("fze", "frozen_embeddings", "Frozen embeddings")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
    /// DPO, PPO and GRPO: a frozen copy of the model beside it. With adapters none is needed: the
    /// model without them is its own reference.
    Reference("ref", "reference_model", "Reference model")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(true)),
    /// PPO and GRPO: where the engine that generates answers keeps its weights and cache.
    Rollout("ro", "rollout", "Answers come from")
        .choice(&[
            option("apart", "Other GPUs", "Nothing of the engine is here."),
            option("colocated", "These GPUs",
                "The engine's weights and cache stay beside the training."),
            option("sleeping", "These GPUs, in turn",
                "The engine gives its memory back while the model trains."),
        ]).group(Group::Run).tune().folded().default(FieldDefault::Choice("sleeping")),
    /// PPO and GRPO: sequences that the engine on one GPU generates at once; its cache grows in
    /// proportion.
    RolloutSequences("ron", "rollout_sequences", "Answers at once")
        .whole(1..=1_000_000).step(1).unit("sequences").group(Group::Run).tune().folded()
        .default(FieldDefault::Integer(64)),
    /// Tokens of a text in the mean: padded to the sequence, or packed. Empty: as long as the
    /// sequence. 4k means 4096.
    TextTokens("txt", "text_tokens", "Mean text")
        .tokens(1..=LENGTH).optional().group(Group::Run).tune().folded()
        .default(FieldDefault::Empty),
    /// Sequences are filled with several texts instead of padding; each text sees itself alone.
    Packing("pack", "packing", "Packing")
        .flag().group(Group::Run).tune().folded().default(FieldDefault::Flag(false)),
}
