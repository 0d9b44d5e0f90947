//! Fine-tuning: which parameters learn, in the words of Hugging Face's peft.

use crate::units::DType;

/// The training method: which parameters learn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// The model's own parameters.
    #[default]
    Full,
    /// Low-rank adapters beside frozen linear layers.
    Lora,
    /// Low-rank adapters and a magnitude for every output column.
    Dora,
    /// Embedded tokens before every text, beside a frozen model (prompt tuning).
    Prompt,
    /// Keys and values before those of the text in every layer, beside a frozen model (prefix
    /// tuning without a projection).
    Prefix,
}

impl Method {
    /// Returns true if adapters stand beside linear layers.
    pub const fn adapts_linears(self) -> bool {
        matches!(self, Self::Lora | Self::Dora)
    }
}

/// The objective of a training: what the model learns, and from which data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Objective {
    /// The next token: pre-training and supervised fine-tuning.
    #[default]
    NextToken,
    /// The preferred one of two answers (DPO).
    Preference,
    /// One number for each of two answers: a reward model.
    Reward,
    /// One number for every token: the critic of PPO.
    Value,
    /// Rewards of generated answers, with a critic (PPO).
    Ppo,
    /// Rewards of groups of generated answers (GRPO).
    Grpo,
}

impl Objective {
    /// Returns the number of sequences that run through the model for each sequence of the batch.
    pub const fn sequences(self) -> u64 {
        match self {
            Self::Preference | Self::Reward => 2,
            _ => 1,
        }
    }

    /// Returns true if the head gives one number in place of a token's scores.
    pub const fn scores(self) -> bool {
        matches!(self, Self::Reward | Self::Value)
    }

    /// Returns true if answers are generated while training.
    pub const fn generates(self) -> bool {
        matches!(self, Self::Ppo | Self::Grpo)
    }
}

/// Where answers are generated while training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rollout {
    /// On other accelerators.
    #[default]
    Apart,
    /// On the same accelerators, where the engine keeps its memory throughout.
    Colocated,
    /// On the same accelerators; the engine gives its memory back while the model trains.
    Sleeping,
}

/// The format of the linear layers' frozen weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BaseFormat {
    /// The format of the other weights.
    #[default]
    Weights,
    /// `NormalFloat` of 4 bits with one fp32 scale per 64 values (bitsandbytes).
    Nf4,
    /// `NormalFloat` of 4 bits with scales of 8 bits, themselves scaled per 256.
    Nf4Double,
    /// 8 bits with one fp32 scale for each output column, multiplied as such (`LLM.int8()` of
    /// bitsandbytes).
    Int8,
}

impl BaseFormat {
    /// Returns true if weights are kept in 4 or 8 bits.
    pub const fn is_quantised(self) -> bool {
        !matches!(self, Self::Weights)
    }
}

/// A set of linear layers, named after their work.
///
/// A layer that does the work of several (`qkv_proj`, `gate_up_proj`) is in the set if the set has
/// one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Targets(u16);

impl Targets {
    /// No layers.
    pub const NONE: Self = Self(0);
    /// Queries.
    pub const QUERY: Self = Self(1);
    /// Keys.
    pub const KEY: Self = Self(1 << 1);
    /// Values.
    pub const VALUE: Self = Self(1 << 2);
    /// Attention's output.
    pub const OUTPUT: Self = Self(1 << 3);
    /// The feed-forward layer's gate.
    pub const GATE: Self = Self(1 << 4);
    /// The feed-forward layer's up projection.
    pub const UP: Self = Self(1 << 5);
    /// The feed-forward layer's down projection.
    pub const DOWN: Self = Self(1 << 6);
    /// Compressed queries of latent attention.
    pub const QUERY_DOWN: Self = Self(1 << 7);
    /// Compressed keys and values of latent attention.
    pub const KEY_VALUE_DOWN: Self = Self(1 << 8);
    /// The expansion of compressed keys and values.
    pub const KEY_VALUE_UP: Self = Self(1 << 9);
    /// The gate of shared experts.
    pub const SHARED_GATE: Self = Self(1 << 10);
    /// Every other linear layer of the blocks: projections of states, gates, indexers.
    pub const OTHERS: Self = Self(1 << 11);
    /// The expansion of compressed queries.
    pub const QUERY_UP: Self = Self(1 << 12);
    /// Every linear layer of the blocks (peft's `all-linear`).
    pub const ALL: Self = Self((1 << 13) - 1);

    /// Returns both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the two sets have a layer in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the layers of a name in `target_modules`; `None` for a name that no known family
    /// has.
    ///
    /// ```
    /// # use headroom::config::Targets;
    /// assert_eq!(Targets::named("q_proj"), Some(Targets::QUERY));
    /// assert!(Targets::named("query_key_value").is_some_and(|joint| joint.meets(Targets::KEY)));
    /// assert_eq!(Targets::named("tok_embeddings"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        const JOINT: Targets = Targets::QUERY.and(Targets::KEY).and(Targets::VALUE);
        Some(match name {
            "all-linear" => Self::ALL,
            // T5 and BERT have names of their own for them.
            "q_proj" | "q" | "query" => Self::QUERY,
            "k_proj" | "k" | "key" => Self::KEY,
            "v_proj" | "v" | "value" => Self::VALUE,
            "qkv_proj" | "query_key_value" | "c_attn" => JOINT,
            "o_proj" | "out_proj" | "output_proj" | "dense" | "o" => Self::OUTPUT,
            "gate_proj" | "w1" => Self::GATE,
            "up_proj" | "w3" | "fc1" | "c_fc" | "dense_h_to_4h" => Self::UP,
            "gate_up_proj" => Self::GATE.and(Self::UP),
            "down_proj" | "w2" | "fc2" | "dense_4h_to_h" => Self::DOWN,
            // GPT-2 and StarCoder2 give this name to the second layer of attention and to that of
            // the feed-forward layer.
            "c_proj" => Self::OUTPUT.and(Self::DOWN),
            "q_a_proj" => Self::QUERY_DOWN,
            "q_b_proj" => Self::QUERY_UP,
            "kv_a_proj_with_mqa" => Self::KEY_VALUE_DOWN,
            "kv_b_proj" => Self::KEY_VALUE_UP,
            "shared_expert_gate" => Self::SHARED_GATE,
            "in_proj" | "in_proj_qkvz" | "in_proj_ba" | "in_proj_qkv" | "in_proj_z"
            | "in_proj_b" | "in_proj_a" | "x_proj" => Self::OTHERS,
            _ => return None,
        })
    }
}

/// Whole layers that learn beside adapters (`modules_to_save`): peft trains a copy of each and
/// keeps the original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SavedModules {
    /// The token embedding (`embed_tokens`).
    pub embedding: bool,
    /// The output head (`lm_head`).
    pub head: bool,
}

/// The parameters that learn, and the parts that are added for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// The method.
    pub method: Method,
    /// Rank of adapters (`r`).
    pub r: u64,
    /// Layers with adapters (`target_modules`).
    pub target_modules: Targets,
    /// Whole layers that learn beside adapters (`modules_to_save`).
    pub modules_to_save: SavedModules,
    /// Format of adapters; `None`: that of the weights beside them. peft makes them fp32 unless
    /// told otherwise.
    pub adapter_dtype: Option<DType>,
    /// Tokens that learn (`num_virtual_tokens`).
    pub num_virtual_tokens: u64,
    /// True if `lora_dropout` is above 0.
    pub dropout: bool,
    /// Format of the linear layers' frozen weights.
    pub base: BaseFormat,
    /// True if experts, which are no linear layers, are kept in as few bits.
    pub packs_experts: bool,
    /// True if all weights that are not kept in fewer bits are cast to fp32 (peft's
    /// `prepare_model_for_kbit_training`).
    pub upcasts: bool,
    /// True if autocast to bf16 runs beside weights of any format (`bf16=True` of Hugging Face's
    /// Trainer).
    pub autocast: bool,
    /// Number of blocks, from the first one on, that do not learn.
    pub frozen_layers: u64,
    /// True if embeddings do not learn.
    pub frozen_embeddings: bool,
    /// True if a vision tower does not learn; the projector behind it does.
    pub frozen_tower: bool,
    /// True if states of the optimizer move between host and device as they are needed
    /// (bitsandbytes' paged optimizers).
    pub paged_optimizer: bool,
    /// The objective.
    pub objective: Objective,
    /// True if a frozen copy of the model, as it was before training, runs beside it as a
    /// reference.
    pub reference: bool,
    /// Where answers are generated.
    pub rollout: Rollout,
    /// Sequences generated at once on one accelerator.
    pub rollout_sequences: u64,
}

impl Tuning {
    /// Every parameter learns: training from scratch, or full fine-tuning.
    pub const FULL: Self = Self {
        method: Method::Full,
        r: 8,
        target_modules: Targets::NONE,
        modules_to_save: SavedModules { embedding: false, head: false },
        adapter_dtype: None,
        num_virtual_tokens: 20,
        dropout: false,
        base: BaseFormat::Weights,
        packs_experts: false,
        upcasts: false,
        autocast: false,
        frozen_layers: 0,
        frozen_embeddings: false,
        frozen_tower: false,
        paged_optimizer: false,
        objective: Objective::NextToken,
        reference: false,
        rollout: Rollout::Apart,
        rollout_sequences: 1,
    };

    /// Returns these settings with low-rank adapters beside frozen weights in that format. Such a
    /// model without its adapters is its own reference, so no second copy is kept.
    #[must_use]
    pub const fn with_adapters(self, base: BaseFormat) -> Self {
        Self {
            method: Method::Lora,
            base,
            frozen_layers: 0,
            frozen_embeddings: false,
            reference: false,
            ..self
        }
    }

    /// Returns true if every parameter of the model learns and nothing is added.
    pub const fn is_full(&self) -> bool {
        matches!(self.method, Method::Full) && self.frozen_layers == 0 && !self.frozen_embeddings
    }

    /// Returns true if the model's own parameters stay as they are.
    pub const fn freezes_model(&self) -> bool {
        !matches!(self.method, Method::Full)
    }

    /// Returns true if some weights are kept in four or eight bits.
    pub const fn packs_weights(&self) -> bool {
        self.freezes_model() && self.base.is_quantised()
    }

    /// Returns true if weights that are kept in 16 bits are cast to fp32 because others are kept in
    /// fewer.
    pub const fn upcasts_rest(&self) -> bool {
        self.upcasts && self.packs_weights()
    }

    /// Returns the number of tokens before every text that learn (prompt tuning).
    pub const fn tokens_before(&self) -> u64 {
        if matches!(self.method, Method::Prompt) { self.num_virtual_tokens } else { 0 }
    }

    /// Returns the number of learned keys and values before those of the text, in tokens.
    pub const fn keys_before(&self) -> u64 {
        if matches!(self.method, Method::Prefix) { self.num_virtual_tokens } else { 0 }
    }

    /// Returns true if a block's own parameters stay as they are.
    pub const fn freezes_block(&self, layer: u64) -> bool {
        self.freezes_model() || layer < self.frozen_layers
    }

    /// Returns true if a vision tower stays as it is.
    pub const fn freezes_tower(&self) -> bool {
        self.freezes_model() || self.frozen_tower
    }

    /// Returns true if the embedding stays as it is.
    pub const fn freezes_embedding(&self) -> bool {
        (self.freezes_model() && !self.copies_embedding()) || self.frozen_embeddings
    }

    /// Returns true if a copy of the embedding learns beside adapters.
    pub const fn copies_embedding(&self) -> bool {
        self.method.adapts_linears() && self.modules_to_save.embedding
    }

    /// Returns true if a copy of the embedding or of the head learns beside adapters.
    pub const fn copies_ends(&self) -> bool {
        self.copies_embedding() || self.copies_head()
    }

    /// Returns true if a copy of the head learns beside adapters.
    pub const fn copies_head(&self) -> bool {
        self.method.adapts_linears() && self.modules_to_save.head
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self::FULL
    }
}
