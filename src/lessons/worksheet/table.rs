//! The tasks, as data. Values that are drawn for a student may be added at the end of the table
//! only, so that earlier worksheets keep their numbers.

/// A task before its values are drawn.
pub(super) struct Template {
    /// The scenario that it starts from.
    pub link: &'static str,
    /// Fields whose values are drawn, each with the values.
    pub drawn: &'static [(&'static str, &'static [&'static str])],
    /// The figure that is asked for.
    pub figure: &'static str,
    /// The text of the question, with figures in braces.
    pub prompt: &'static str,
    /// Relative error within which an answer is right.
    pub tolerance: f64,
}

pub(super) const TEMPLATES: &[Template] = &[
    Template {
        link: "v1&do=serve&n=1&u=gb",
        drawn: &[(
            "m",
            &[
                "llama2-7b",
                "llama3-8b",
                "llama2-13b",
                "qwen2.5-14b",
                "qwen2.5-32b",
                "llama3-70b",
                "qwen2.5-72b",
            ],
        )],
        figure: "weights",
        prompt: "{model} has {parameters}. How much memory do its weights take in bf16?",
        tolerance: 0.02,
    },
    Template {
        link: "v1&n=1&z=none&s=512&gb=1&u=gb",
        drawn: &[
            (
                "m",
                &[
                    "llama3.2-1b",
                    "qwen2.5-1.5b",
                    "qwen2.5-3b",
                    "qwen2.5-7b",
                    "llama2-7b",
                    "llama2-13b",
                ],
            ),
            ("grad", &["as-weights", "fp32"]),
        ],
        figure: "states",
        prompt: "{model} with {parameters} is trained with Adam in mixed precision on one GPU, \
            gradients in {gradients}. How much do weights, gradients and optimizer states take \
            together?",
        tolerance: 0.02,
    },
    Template {
        link: "v1&s=2048&gb=512&u=gb",
        drawn: &[
            ("m", &["llama2-7b", "llama3-8b", "llama2-13b", "qwen2.5-14b", "qwen2.5-32b"]),
            ("z", &["1", "2", "3"]),
            ("n", &["8", "16", "32", "64"]),
        ],
        figure: "states",
        prompt: "{model} with {parameters} is trained with Adam in mixed precision (16 bytes for \
            each parameter) under ZeRO stage {zero-stage} on {gpus}. How much do the states take \
            on one of them?",
        tolerance: 0.03,
    },
    Template {
        link: "v1&n=8&gb=64&rc=full&u=gib",
        drawn: &[
            ("m", &["llama2-7b", "llama3-8b", "llama2-13b", "llama3-70b", "qwen2.5-7b"]),
            ("s", &["1024", "2048", "4096", "8192"]),
            ("b", &["1", "2", "4"]),
        ],
        figure: "saved-per-layer",
        prompt: "{model} has a width of {hidden-size}. With every block recomputed, a block keeps \
            its input only, in bf16. How much is that for {micro-batch} of {seq-length}?",
        tolerance: 0.03,
    },
    Template {
        link: "v1&do=serve&n=8&tp=8&u=gb",
        drawn: &[(
            "m",
            &[
                "llama3-8b",
                "llama3-70b",
                "qwen2.5-32b",
                "qwen2.5-72b",
                "llama2-70b",
                "llama3.1-405b",
            ],
        )],
        figure: "kv-per-token",
        prompt: "{model} has {layers}, {heads}, {kv-heads} for keys and values, and a head is \
            {head-dim} wide. How much do the keys and values of one token take in bf16, over all \
            layers?",
        tolerance: 0.02,
    },
    Template {
        link: "v1&do=serve&m=llama3-8b&n=1&u=gib",
        drawn: &[("seqs", &["8", "16", "32", "64"]), ("ctx", &["2048", "4096", "8192"])],
        figure: "kv-cache",
        prompt: "One token of {model} takes {kv-per-token} of keys and values. How much is that \
            for {requests} of {seq-length} each?",
        tolerance: 0.02,
    },
];
