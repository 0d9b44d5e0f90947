#![allow(missing_docs, clippy::all, clippy::pedantic)]
mod support;
use headroom::config::*;
use headroom::estimator::{MemoryKind, measured};
use headroom::ops;
fn tape(model: &ModelConfig, kernels: Kernels) -> u64 {
    let job = support::training_job(model, ParallelLayout::SINGLE, |run| {
        run.seq_length = 8; run.global_batch_size = 1; run.kernels = kernels; run.precision = TrainingPrecision::Bf16Pure;
    });
    measured(&job).unwrap().0[MemoryKind::Parameter.index()].0 / 2
}
#[test]
fn zz() {
    for family in Family::KNOWN.into_iter().chain([Family::Generic]) {
        let text = format!(r#"{{"model_type":"{}","num_hidden_layers":2,"num_experts_per_tok":2,"hidden_size":768,"num_attention_heads":12,"num_key_value_heads":4,"intermediate_size":3072,"vocab_size":1000,"n_inner":3072,"n_embd":768,"n_head":12,"ffn_dim":3072}}"#, family.model_type());
        let base = headroom::import::config_json(&text).unwrap().config;
        let toggles: Vec<(&str, Box<dyn Fn(&mut ModelConfig)>)> = vec![
            ("base", Box::new(|_| {})),
            ("attention_bias", Box::new(|m| m.attention_bias ^= true)),
            ("output_bias", Box::new(|m| m.attention_output_bias ^= true)),
            ("mlp_bias", Box::new(|m| m.mlp_bias ^= true)),
            ("tie", Box::new(|m| m.tie_word_embeddings ^= true)),
            ("qk_norm", Box::new(|m| m.qk_norm ^= true)),
            ("embedding_norm", Box::new(|m| m.embedding_norm ^= true)),
            ("final_norm", Box::new(|m| m.final_norm ^= true)),
            ("sinks", Box::new(|m| m.attention_sinks ^= true)),
            ("head_bias", Box::new(|m| m.lm_head_bias ^= true)),
            ("parallel", Box::new(|m| m.parallel_residual ^= true)),
            ("pooler", Box::new(|m| m.pooler ^= true)),
            ("kv1", Box::new(|m| m.num_key_value_heads = 1)),
            ("kvall", Box::new(|m| m.num_key_value_heads = m.num_attention_heads)),
            ("norms0", Box::new(|m| m.norms_per_block = 0)),
            ("norms1", Box::new(|m| m.norms_per_block = 1)),
            ("norms2", Box::new(|m| m.norms_per_block = 2)),
            ("norms4", Box::new(|m| m.norms_per_block = 4)),
            ("layernorm", Box::new(|m| m.normalization = Normalization::LayerNorm)),
            ("rms", Box::new(|m| m.normalization = Normalization::RmsNorm)),
            ("plain", Box::new(|m| m.mlp = MlpKind::Plain)),
            ("gated", Box::new(|m| m.mlp = MlpKind::Gated)),
            ("learned", Box::new(|m| m.position_embedding = PositionEmbedding::Learned)),
            ("rotary", Box::new(|m| m.position_embedding = PositionEmbedding::Rotary)),
            ("alibi", Box::new(|m| m.position_embedding = PositionEmbedding::Alibi)),
            ("wordproj", Box::new(|m| m.word_embed_proj_dim = Some(512))),
            ("newdec", Box::new(|m| m.new_decoder_architecture ^= true)),
            ("moe", Box::new(|m| m.moe = Some(Moe { num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 128, shared_expert_intermediate_size: 0, shared_expert_gate: false, layers: LayerSet::All, n_group: 1, topk_group: 1, norm_topk_prob: true, bias: false }))),
            ("moebias", Box::new(|m| m.moe = Some(Moe { num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 128, shared_expert_intermediate_size: 0, shared_expert_gate: false, layers: LayerSet::All, n_group: 1, topk_group: 1, norm_topk_prob: true, bias: true }))),
            ("moeshared", Box::new(|m| m.moe = Some(Moe { num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 128, shared_expert_intermediate_size: 256, shared_expert_gate: false, layers: LayerSet::All, n_group: 1, topk_group: 1, norm_topk_prob: true, bias: false }))),
            ("moemlpbias", Box::new(|m| {m.mlp_bias = true; m.moe = Some(Moe { num_experts: 8, num_experts_per_tok: 2, moe_intermediate_size: 128, shared_expert_intermediate_size: 256, shared_expert_gate: false, layers: LayerSet::All, n_group: 1, topk_group: 1, norm_topk_prob: true, bias: true })})),
            ("mla", Box::new(|m| m.mla = Some(Mla { q_lora_rank: Some(64), kv_lora_rank: 64, qk_rope_head_dim: 16, qk_nope_head_dim: 32, v_head_dim: 32 }))),
            ("mlabias", Box::new(|m| {m.attention_bias = true; m.mla = Some(Mla { q_lora_rank: None, kv_lora_rank: 64, qk_rope_head_dim: 16, qk_nope_head_dim: 32, v_head_dim: 32 })})),
        ];
        let mut bad = vec![];
        for (name, toggle) in toggles {
            let mut model = base.clone();
            toggle(&mut model);
            let lower = ops::lower(&ops::Lowering::parameters_only(&model)).parameters() as i64;
            let e = tape(&model, Kernels::Eager) as i64;
            if e != lower { bad.push(format!("{name}{:+}", e - lower)); }
        }
        println!("{family:?} (tape - list): {}", bad.join(" "));
    }
}
