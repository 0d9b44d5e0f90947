"""Parameter counts of real transformers models from partial configs (needs torch and transformers; nothing is downloaded).
Writes rows as in parameters.jsonl: the config as a user would paste it, with the library's defaults left out."""
import json, os, sys, warnings; warnings.filterwarnings("ignore")
import torch, transformers
transformers.logging.set_verbosity_error()
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

L = dict(num_hidden_layers=2)
S = dict(hidden_size=768, intermediate_size=2304, num_hidden_layers=3, num_attention_heads=12, num_key_value_heads=4, vocab_size=32000)
G4 = dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=7, num_attention_heads=8, num_key_value_heads=4, head_dim=64, hidden_size_per_layer_input=0, vocab_size=1000)
L4 = dict(hidden_size=1024, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, num_local_experts=4, interleave_moe_layer_step=2, vocab_size=1000, head_dim=128)
# Families of 2026-11-25: the kind, what its default file leaves out that keeps the model small, and a shape; a second one differs in OTHER.
E = dict(L, moe_intermediate_size=256)
MLA = dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=8, vocab_size=4000, q_lora_rank=192, kv_lora_rank=128, qk_rope_head_dim=32, qk_nope_head_dim=64, v_head_dim=96)
SM = dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=4000)
B = dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=3, num_attention_heads=8, vocab_size=4000, max_position_embeddings=1024)
# Encoders: the kind, the class, and what its shape has beside.
ENCODERS = [
    ("eurobert", "EuroBertForMaskedLM", dict(num_key_value_heads=4, mlp_bias=True, pad_token_id=1)), ("nomic_bert", "NomicBertForMaskedLM", {}), ("gte", "GteForMaskedLM", dict(pad_token_id=1)),
    ("jina_embeddings_v3", "JinaEmbeddingsV3ForMaskedLM", {}), ("electra", "ElectraForMaskedLM", dict(embedding_size=96)), ("rembert", "RemBertForMaskedLM", dict(input_embedding_size=128, output_embedding_size=640)),
    ("modernbert", "ModernBertForMaskedLM", dict(attention_bias=True, mlp_bias=True, decoder_bias=False, pad_token_id=1)), ("mpnet", "MPNetForMaskedLM", dict(relative_attention_num_buckets=24)),
    ("roc_bert", "RoCBertForMaskedLM", dict(pronunciation_vocab_size=500, pronunciation_embed_dim=256, shape_vocab_size=700, shape_embed_dim=128)), ("layoutlm", "LayoutLMForMaskedLM", dict(max_2d_position_embeddings=256)),
    ("albert", "AlbertForMaskedLM", dict(embedding_size=128)),
    ("deberta-v2", "DebertaV2ForMaskedLM", dict(relative_attention=True, position_buckets=128, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type=["p2c", "c2p"], position_biased_input=False)),
    ("deberta", "DebertaForMaskedLM", dict(relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=200, position_biased_input=False)),
    ("bert-generation", "BertGenerationDecoder", dict(is_decoder=True)), ("nystromformer", "NystromformerForMaskedLM", dict(conv_kernel_size=33)), ("yoso", "YosoForMaskedLM", dict(conv_window=17)),
    ("mra", "MraForMaskedLM", {}), ("longformer", "LongformerForMaskedLM", dict(attention_window=64)), ("big_bird", "BigBirdForMaskedLM", {}), ("luke", "LukeForMaskedLM", dict(entity_vocab_size=1000, entity_emb_size=128)),
    ("tapas", "TapasForMaskedLM", dict(type_vocab_sizes=[3, 100, 100, 2, 50, 50, 10])), ("xmod", "XmodForMaskedLM", dict(languages=["en_XX", "de_DE", "fr_XX"], adapter_reduction_factor=4)),
    ("ibert", "IBertForMaskedLM", {}), ("roformer", "RoFormerForMaskedLM", dict(embedding_size=256)), ("esmc", "EsmcForMaskedLM", dict(num_key_value_heads=8, attention_bias=True, mlp_bias=True)),
    ("esm", "EsmForMaskedLM", dict(position_embedding_type="rotary", token_dropout=True, pad_token_id=1, mask_token_id=2)),
]
# Encoders beside decoders whose blocks no row has measured: the kind, the class, and a shape.
X = dict(d_model=512, encoder_layers=4, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1536, vocab_size=4000)
T = dict(d_model=384, num_layers=4, num_decoder_layers=3, num_heads=6, d_kv=48, d_ff=1024, vocab_size=4000)
BESIDE = [
    ("mvp", "MvpForConditionalGeneration", dict(X)), ("fsmt", "FSMTForConditionalGeneration", dict({key: X[key] for key in X if key != "vocab_size"}, src_vocab_size=3000, tgt_vocab_size=2000, max_position_embeddings=256)),
    ("led", "LEDForConditionalGeneration", dict(X, max_encoder_position_embeddings=2048, max_decoder_position_embeddings=256, attention_window=64)),
    ("bigbird_pegasus", "BigBirdPegasusForConditionalGeneration", dict(X, use_bias=True, max_position_embeddings=512)), ("bigbird_pegasus", "BigBirdPegasusForConditionalGeneration", dict(X)),
    ("pegasus_x", "PegasusXForConditionalGeneration", dict(X, num_global_tokens=48)), ("nllb-moe", "NllbMoeForConditionalGeneration", dict(X, num_experts=6, encoder_sparse_step=2, decoder_sparse_step=1, expert_capacity=8)),
    ("prophetnet", "ProphetNetForConditionalGeneration", dict(hidden_size=512, num_encoder_layers=4, num_decoder_layers=2, num_encoder_attention_heads=8, num_decoder_attention_heads=4, encoder_ffn_dim=1024, decoder_ffn_dim=1536, vocab_size=4000, ngram=3, num_buckets=16)),
    ("umt5", "UMT5ForConditionalGeneration", dict(T)), ("umt5", "UMT5ForConditionalGeneration", dict(num_layers=2)), ("longt5", "LongT5ForConditionalGeneration", dict(T, feed_forward_proj="gated-gelu")),
    ("switch_transformers", "SwitchTransformersForConditionalGeneration", dict(T, num_experts=4, num_sparse_encoder_layers=2, num_sparse_decoder_layers=1)),
    ("pop2piano", "Pop2PianoForConditionalGeneration", dict(T, composer_vocab_size=5)), ("t5", "T5ForConditionalGeneration", dict(num_layers=2)), ("mt5", "MT5ForConditionalGeneration", dict(num_layers=2, tie_word_embeddings=False)),
    ("seamless_m4t", "SeamlessM4TForTextToText", dict({key: X[key] for key in X if key != "d_model"}, hidden_size=512)), ("seamless_m4t_v2", "SeamlessM4Tv2ForTextToText", dict({key: X[key] for key in X if key != "d_model"}, hidden_size=512)),
]
NEW = [
    ("cwm", L, dict(SM, head_dim=64)), ("jais2", L, dict(SM, head_dim=96)), ("vaultgemma", L, dict(SM, head_dim=96)), ("youtu", L, MLA), ("minicpm3", L, MLA),
    ("glm4_moe_lite", dict(num_hidden_layers=3), dict(MLA, moe_intermediate_size=256, n_routed_experts=8, num_experts_per_tok=2)),
    ("mellum", L, dict(SM, head_dim=64, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2, layer_types=["sliding_attention", "sliding_attention", "full_attention", "sliding_attention"], mlp_layer_types=["dense", "sparse", "sparse", "sparse"])),
    ("dots1", dict(L, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=1), dict(SM, head_dim=64, moe_intermediate_size=256, n_routed_experts=8, num_experts_per_tok=2, n_shared_experts=2, first_k_dense_replace=1)),
    ("hyperclovax", L, dict(SM, use_post_norm=False)), ("exaone_moe", dict(num_hidden_layers=3), dict(SM, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2, num_shared_experts=2)),
    ("hy_v3", L, dict(SM, head_dim=64, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2)), ("flex_olmo", L, dict(SM, num_experts=8, num_experts_per_tok=2, pad_token_id=1, eos_token_id=2)),
    ("biogpt", L, B), ("granitemoe", L, dict(SM, num_local_experts=4)), ("granitemoeshared", L, dict(SM, num_local_experts=4, shared_intermediate_size=256)), ("granitemoe_swa", L, dict(SM, num_local_experts=4, shared_intermediate_size=256)),
    ("arcee", L, SM), ("ernie4_5", L, dict(SM, head_dim=64)), ("exaone4", L, SM), ("iquestcoder", L, SM), ("internlm3", L, SM), ("flint", dict(num_hidden_layers=3), dict(SM, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2)),
    ("kolibri1", L, {**SM, "moe_intermediate_size": 256, "num_local_experts": 8, "num_experts_per_tok": 2, "intermediate_size": None}), ("aria_text", L, dict(SM, moe_num_experts=4, moe_num_shared_experts=1, pad_token_id=1)),
    ("glm", dict(L, pad_token_id=None), dict(SM, head_dim=64, pad_token_id=1)), ("hunyuan_v1_dense", dict(L, head_dim=128), dict(SM, head_dim=96)), ("solar_open", L, dict(SM, head_dim=64, moe_intermediate_size=256, n_routed_experts=8, num_experts_per_tok=2)), ("olmo3", L, SM),
    ("qwen2_moe", L, dict(SM, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=256, shared_expert_intermediate_size=384)),
    ("bert", L, B), ("roberta", L, dict(B, type_vocab_size=1)), ("xlm-roberta", L, B), ("camembert", L, B), ("data2vec-text", L, B), ("ernie", L, B), ("megatron-bert", L, B), ("roberta-prelayernorm", L, B), ("xlm-roberta-xl", L, B),
    ("paddleocr_vl_text", L, dict(SM, head_dim=96)), ("glm_ocr_text", L, SM), ("cosmos3_edge_text", L, dict(SM, head_dim=96)), ("muse_glimmer_text", L, dict(SM, head_dim=96)),
    *[(kind, dict(L, **further), dict(SM, head_dim=64, moe_intermediate_size=256, num_experts_per_tok=2, **own)) for kind, further, own in (("qwen3_vl_moe_text", {}, dict(num_experts=8)), ("qwen3_omni_moe_text", {}, dict(num_experts=8)), ("step3p5", dict(num_hidden_layers=4), dict(n_routed_experts=8, share_expert_dim=128)))],
    ("qwen2_vl_text", L, SM), ("qwen3_vl_text", L, dict(SM, head_dim=96)),
    *[(kind, dict(num_hidden_layers=2, architectures=[named]), dict(B, architectures=[named], **further)) for kind, named, further in ENCODERS],
    *[(kind, dict(n_layers=2, architectures=[named]), dict(emb_dim=512, n_layers=3, n_heads=8, vocab_size=4000, max_position_embeddings=1024, architectures=[named], n_langs=languages)) for kind, named, languages in (("xlm", "XLMWithLMHeadModel", 3), ("flaubert", "FlaubertWithLMHeadModel", 1))],
    ("distilbert", dict(n_layers=2, architectures=["DistilBertForMaskedLM"]), dict(dim=512, hidden_dim=1536, n_layers=3, n_heads=8, vocab_size=4000, architectures=["DistilBertForMaskedLM"])),
    ("lfm2_moe", dict(num_hidden_layers=4, layer_types=["conv", "conv", "full_attention", "conv"]), dict(SM, moe_intermediate_size=256, num_experts=8, num_experts_per_tok=2, num_dense_layers=1, layer_types=["conv", "conv", "full_attention", "conv"])),
    ("olmo_hybrid", dict(num_hidden_layers=4), dict(SM, linear_num_value_heads=8, linear_num_key_heads=4, linear_key_head_dim=48, linear_value_head_dim=96, pad_token_id=1, eos_token_id=2)),
    ("bailing_hybrid", dict(num_hidden_layers=6)),
    ("bailing_hybrid", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=4, vocab_size=4000, head_dim=48, kv_lora_rank=64, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=24, moe_intermediate_size=96, num_local_experts=16, num_experts_per_tok=2, pad_token_id=0, eos_token_id=1, layer_group_size=3, first_k_dense_replace=1)),
    # States behind blocks that layers share.
    ("zamba", dict(num_hidden_layers=15)),
    ("zamba", dict(hidden_size=256, num_hidden_layers=4, layers_block_type=["linear_attention", "hybrid", "linear_attention", "hybrid"], num_attention_heads=4, num_key_value_heads=2, intermediate_size=700, vocab_size=4000, n_mamba_heads=4, mamba_d_state=12, mamba_dt_rank=20)),
    ("zamba", dict(hidden_size=256, num_hidden_layers=4, layers_block_type=["linear_attention", "hybrid", "linear_attention", "hybrid"], num_attention_heads=4, num_key_value_heads=4, intermediate_size=700, vocab_size=4000, tie_word_embeddings=False)),
    ("zamba2", dict(num_hidden_layers=54)),
    ("zamba2", dict(hidden_size=256, num_hidden_layers=5, layers_block_type=["linear_attention", "hybrid", "hybrid", "linear_attention", "hybrid"], num_attention_heads=4, intermediate_size=700, vocab_size=4000, n_mamba_heads=16, mamba_ngroups=2, mamba_d_state=32, num_mem_blocks=2, adapter_rank=24)),
    ("zamba2", dict(hidden_size=256, num_hidden_layers=4, layers_block_type=["linear_attention", "hybrid", "linear_attention", "hybrid"], num_attention_heads=4, vocab_size=4000, use_shared_attention_adapter=True, use_mem_rope=True, adapter_rank=16)),
]
OTHER = {"olmo_hybrid": dict(num_hidden_layers=3, linear_key_head_dim=32, vocab_size=1000, tie_word_embeddings=True), "lfm2_moe": dict(num_dense_layers=3, tie_word_embeddings=False, vocab_size=1000), None: dict(num_hidden_layers=3, vocab_size=1000, tie_word_embeddings=False), "mellum": dict(vocab_size=1000, tie_word_embeddings=True), "jais2": dict(attention_bias=False, mlp_bias=False), "hyperclovax": dict(use_post_norm=True, tie_word_embeddings=True), "distilbert": dict(n_layers=4, vocab_size=1000), "xlm": dict(n_layers=4, tie_word_embeddings=False), "flaubert": dict(n_layers=4, tie_word_embeddings=False), "bert-generation": dict(num_hidden_layers=1, vocab_size=1000), "luke": dict(num_hidden_layers=1, vocab_size=1000), "modernbert": dict(num_hidden_layers=1, vocab_size=1000, pad_token_id=1), "gte": dict(num_hidden_layers=1, vocab_size=1000, type_vocab_size=1),
    "ernie4_5": dict(use_bias=True, vocab_size=1000), "cwm": dict(tie_word_embeddings=True, vocab_size=1000), "exaone4": dict(tie_word_embeddings=True, head_dim=96), "granitemoeshared": dict(shared_intermediate_size=0, tie_word_embeddings=True)}

CASES = [
    ("llama", L), ("llama", dict(S, attention_bias=True, mlp_bias=True)), ("llama", dict(S, head_dim=128, tie_word_embeddings=True)),
    ("mistral", L), ("mistral", dict(S, head_dim=96)), ("qwen2", L), ("qwen2", dict(S, tie_word_embeddings=True)),
    ("qwen3", L), ("qwen3", dict(S, attention_bias=True)), ("gemma", L), ("gemma2", L), ("gemma2", dict(S, head_dim=128)),
    ("gemma3_text", L), ("gemma3_text", dict(S, num_hidden_layers=7, sliding_window=512)), ("gpt2", dict(n_layer=2)),
    ("gpt2", dict(n_embd=640, n_head=10, n_layer=3, n_inner=2000, vocab_size=1000, n_positions=512)),
    ("gpt_neox", L), ("gpt_neox", dict(hidden_size=512, intermediate_size=2048, num_attention_heads=8, num_hidden_layers=2, attention_bias=False)),
    ("opt", L), ("opt", dict(hidden_size=1024, ffn_dim=4096, num_attention_heads=16, num_hidden_layers=2, word_embed_proj_dim=512, do_layer_norm_before=False)),
    ("opt", dict(hidden_size=512, num_attention_heads=8, num_hidden_layers=2, word_embed_proj_dim=512, enable_bias=False)),
    ("bloom", dict(hidden_size=1024, n_layer=3, n_head=16)),
    ("falcon", L), ("falcon", dict(hidden_size=1024, num_attention_heads=16, num_hidden_layers=2, new_decoder_architecture=True, num_kv_heads=4)),
    ("falcon", dict(hidden_size=1024, num_attention_heads=16, num_hidden_layers=2, multi_query=False, parallel_attn=False, bias=True, alibi=True)),
    ("falcon", dict(hidden_size=1024, num_attention_heads=16, num_hidden_layers=2, new_decoder_architecture=True, num_kv_heads=4, num_ln_in_parallel_attn=1)),
    ("phi", L), ("phi", dict(S, qk_layernorm=True)), ("phi3", L), ("phi3", dict(S, vocab_size=40000)), ("mixtral", L), ("mixtral", dict(S, num_local_experts=4)),
    ("qwen3_moe", L), ("qwen3_moe", dict(S, num_experts=16, moe_intermediate_size=320, mlp_only_layers=[1])),
    ("qwen3_moe", dict(S, num_hidden_layers=4, num_experts=16, moe_intermediate_size=320, decoder_sparse_step=2)),
    ("deepseek_v2", dict(L, num_experts_per_tok=6)),
    ("deepseek_v2", dict(hidden_size=768, intermediate_size=2304, num_hidden_layers=3, num_attention_heads=12, q_lora_rank=None, kv_lora_rank=128, n_routed_experts=16, n_shared_experts=2, moe_intermediate_size=256, num_experts_per_tok=4, first_k_dense_replace=1)),
    ("deepseek_v3", dict(num_hidden_layers=4)),
    ("deepseek_v3", dict(hidden_size=768, intermediate_size=2304, num_hidden_layers=3, num_attention_heads=12, q_lora_rank=None, kv_lora_rank=128, n_routed_experts=16, n_shared_experts=3, moe_intermediate_size=256, num_experts_per_tok=4, first_k_dense_replace=1, n_group=4, topk_group=2, attention_bias=True)),
    ("gpt_oss", L), ("gpt_oss", dict(hidden_size=768, intermediate_size=512, num_hidden_layers=3, num_attention_heads=12, num_key_value_heads=4, num_local_experts=8)),
    ("olmo2", L), ("olmo2", S), ("cohere", L), ("cohere", dict(S, use_qk_norm=True)), ("starcoder2", L), ("starcoder2", dict(S, use_bias=False)),
    ("stablelm", L), ("stablelm", dict(S, use_qkv_bias=True, use_parallel_residual=True)), ("stablelm", dict(S, qk_layernorm=True)),
    ("granite", L), ("granite", dict(S, attention_bias=True)), ("glm4", L), ("glm4", dict(S, attention_bias=False, vocab_size=152000)),
    # Known shapes without modules of their own.
    ("mpt", dict(d_model=768, n_heads=12, n_layers=2)), ("gptj", dict(n_layer=2)), ("codegen", dict(n_layer=2)), ("gpt_neo", dict(hidden_size=768, num_heads=12, num_layers=2, attention_types=[[["global", "local"], 1]])),
    ("gpt_bigcode", dict(n_layer=2)), ("qwen2_moe", L), ("granitemoe", L), ("olmo", L), ("olmo3", L), ("cohere2", L), ("glm", L), ("glm4_moe", dict(L, head_dim=128)),
    ("smollm3", L), ("seed_oss", L), ("arcee", L), ("helium", L), ("ernie4_5", L), ("exaone4", L), ("persimmon", L), ("phimoe", L), ("llama4_text", L),
    ("nemotron", dict(L, num_key_value_heads=8)), ("ministral", dict(S, head_dim=64)),
    # Layers that keep a state in place of keys and values, or beside them.
    ("qwen3_next", dict(num_hidden_layers=48)), ("qwen3_next", dict(num_hidden_layers=8, hidden_size=1024, num_experts=16, linear_num_value_heads=24, linear_num_key_heads=8, linear_value_head_dim=64, linear_key_head_dim=96, linear_conv_kernel_dim=3)),
    ("qwen3_next", dict(num_hidden_layers=6, full_attention_interval=3, mlp_only_layers=[1])),
    ("qwen3_5_text", dict(num_hidden_layers=9)), ("qwen3_5_moe_text", dict(num_hidden_layers=4)),
    ("kimi_linear", dict(num_hidden_layers=27)), ("kimi_linear", dict(num_hidden_layers=6, hidden_size=1024, num_experts=8, linear_num_heads=8, linear_head_dim=64, kv_lora_rank=128)),
    ("minimax", dict(num_hidden_layers=5)), ("minimax", dict(num_hidden_layers=4, head_dim=64, num_local_experts=4, layer_types=["linear_attention"] * 3 + ["full_attention"])),
    ("mamba", dict(num_hidden_layers=32)), ("mamba", dict(hidden_size=1000, num_hidden_layers=3, state_size=32, expand=3, conv_kernel=5, time_step_rank=20, tie_word_embeddings=False)),
    ("falcon_mamba", dict(hidden_size=4096, num_hidden_layers=4, tie_word_embeddings=False)), ("mamba2", dict(num_hidden_layers=3)),
    ("mamba2", dict(hidden_size=1024, num_hidden_layers=3, num_heads=32, head_dim=64, n_groups=2, state_size=64, tie_word_embeddings=True)),
    ("jamba", dict(num_hidden_layers=32)), ("jamba", dict(num_hidden_layers=8, num_experts=1, mamba_d_state=32, mamba_dt_rank=100, attn_layer_period=3, attn_layer_offset=1)),
    ("bamba", dict(num_hidden_layers=6, attn_layer_indices=[2, 5])), ("falcon_h1", dict(num_hidden_layers=3)),
    ("falcon_h1", dict(hidden_size=1024, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2, mamba_d_ssm=1536, mamba_n_heads=24, mamba_d_head=64, mamba_d_state=128, mamba_rms_norm=True)),
    ("granitemoehybrid", dict(num_hidden_layers=5, layer_types=["mamba", "mamba", "attention", "mamba", "mamba"])),
    ("granitemoehybrid", dict(num_hidden_layers=4, num_local_experts=0, shared_intermediate_size=8192, layer_types=["mamba", "attention", "mamba", "mamba"])),
    ("nemotron_h", dict(hidden_size=4096, layers_block_type=["mamba", "mlp", "mamba", "attention", "mlp", "moe"])),
    ("nemotron_h", dict(hidden_size=1024, intermediate_size=3000, mamba_num_heads=16, mamba_head_dim=80, n_groups=2, head_dim=64, num_attention_heads=16, layers_block_type=["mamba", "mamba", "attention", "mlp"])),
    ("nemotron_h", dict(hidden_size=512, n_routed_experts=16, num_experts_per_tok=4, moe_intermediate_size=320, moe_shared_expert_intermediate_size=600, moe_latent_size=128, layers_block_type=["mamba", "moe", "attention", "moe"])),
    ("lfm2", dict(num_hidden_layers=4, full_attn_idxs=[2])), ("lfm2", dict(hidden_size=1024, intermediate_size=6656, num_hidden_layers=5, num_attention_heads=16, layer_types=["conv", "conv", "full_attention", "conv", "full_attention"], conv_L_cache=4, block_ffn_dim_multiplier=1.3)),
    # Further families with modules of their own.
    ("olmoe", dict(num_hidden_layers=16)), ("olmoe", dict(S, num_experts=16, num_experts_per_tok=4)), ("olmoe", dict(S, num_key_value_heads=12, hidden_size=1020, num_experts=8, num_experts_per_tok=2, attention_bias=True, tie_word_embeddings=True)),
    ("minimax_m2", dict(num_hidden_layers=62)), ("minimax_m2", dict(S, head_dim=64, num_local_experts=8, num_experts_per_tok=2)), ("minimax_m2", dict(S, head_dim=96, num_local_experts=6, num_experts_per_tok=3, num_key_value_heads=2, tie_word_embeddings=True)),
    ("glm4_moe", dict(num_hidden_layers=46)), ("glm4_moe", dict(num_hidden_layers=46, head_dim=128)), ("glm4_moe", dict(S, head_dim=64, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=256, use_qk_norm=True, n_shared_experts=2)),
    ("glm4_moe", dict(S, num_hidden_layers=5, head_dim=96, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=256, first_k_dense_replace=2, attention_bias=True)),
    ("granite_swa", dict(num_hidden_layers=24)), ("granite_swa", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, vocab_size=4000)), ("granite_swa", dict(hidden_size=768, intermediate_size=2304, num_hidden_layers=3, num_attention_heads=12, num_key_value_heads=4, vocab_size=1000, tie_word_embeddings=True)),
    ("nanochat", dict(num_hidden_layers=12)), ("nanochat", dict(hidden_size=512, intermediate_size=2048, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=8, vocab_size=4000)), ("nanochat", dict(hidden_size=768, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=6, num_key_value_heads=3, vocab_size=1000)),
    ("apertus", dict(num_hidden_layers=32)), ("apertus", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2, vocab_size=4000, max_position_embeddings=2048)), ("apertus", dict(hidden_size=768, intermediate_size=2000, num_hidden_layers=2, num_attention_heads=12, num_key_value_heads=12, vocab_size=1000, tie_word_embeddings=True, attention_bias=True)),
    # Without head_dim transformers cannot build the first one's default file.
    ("hunyuan_v1_moe", dict(num_hidden_layers=32, head_dim=128)), ("hunyuan_v1_moe", dict(hidden_size=512, intermediate_size=768, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2, head_dim=64, vocab_size=4000, num_experts=8, moe_topk=2)), ("hunyuan_v1_moe", dict(hidden_size=640, intermediate_size=512, num_hidden_layers=2, num_attention_heads=10, num_key_value_heads=5, head_dim=128, vocab_size=1000, num_experts=4, moe_topk=1, tie_word_embeddings=True)),
    ("hunyuan_v1_moe", dict(S, head_dim=48, num_experts=6, moe_topk=[3, 3, 3], attention_bias=True)),
    ("ernie4_5_moe", dict(num_hidden_layers=28)), ("ernie4_5_moe", dict(hidden_size=512, intermediate_size=1536, moe_intermediate_size=256, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2, vocab_size=4000, moe_num_experts=8, moe_k=2, moe_num_shared_experts=2, moe_layer_start_index=1)), ("ernie4_5_moe", dict(hidden_size=640, intermediate_size=1280, moe_intermediate_size=320, num_hidden_layers=4, num_attention_heads=10, num_key_value_heads=5, vocab_size=1000, moe_num_experts=16, moe_k=4, moe_num_shared_experts=0, moe_layer_start_index=1, moe_layer_interval=2, use_bias=True, tie_word_embeddings=False)),
    ("ernie4_5_moe", dict(S, num_hidden_layers=6, num_attention_heads=11, head_dim=40, num_key_value_heads=1, moe_num_experts=6, moe_k=3, moe_num_shared_experts=3, moe_layer_start_index=0, moe_layer_end_index=4, moe_layer_interval=2, use_bias=True)),
    ("mimo_v2_flash", dict(num_hidden_layers=48)), ("mimo_v2_flash", dict(hidden_size=512, intermediate_size=1536, num_hidden_layers=4, num_attention_heads=8, num_key_value_heads=2, head_dim=64, vocab_size=4000)), ("mimo_v2_flash", dict(hidden_size=640, intermediate_size=1280, num_hidden_layers=3, num_attention_heads=10, num_key_value_heads=5, head_dim=96, vocab_size=1000)),
    ("gemma3n_text", dict(num_hidden_layers=35)), ("gemma3n_text", dict(hidden_size=512, intermediate_size=1024, num_hidden_layers=5, num_attention_heads=8, num_key_value_heads=2, head_dim=64, vocab_size=4000, vocab_size_per_layer_input=4000, hidden_size_per_layer_input=64, num_kv_shared_layers=0, laurel_rank=16, sliding_window=128, activation_sparsity_pattern=[0.0, 0.0, 0.0, 0.0, 0.0], layer_types=['sliding_attention', 'sliding_attention', 'sliding_attention', 'sliding_attention', 'full_attention'])), ("gemma3n_text", dict(hidden_size=640, intermediate_size=1280, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=1, head_dim=128, vocab_size=1000, vocab_size_per_layer_input=900, hidden_size_per_layer_input=32, num_kv_shared_layers=2, laurel_rank=8, sliding_window=256, activation_sparsity_pattern=[0.95, 0.95, 0.0, 0.0, 0.0, 0.0], layer_types=['sliding_attention', 'sliding_attention', 'full_attention', 'sliding_attention', 'sliding_attention', 'full_attention'])),
    *[(kind, keys) for kind, *shapes in NEW for keys in (*shapes, *[{**own, **OTHER.get(kind, OTHER[None])} for own in shapes[1:]])],
]

# Written to parameters_further.jsonl, with the argument `further`.
FURTHER = [
    # Layers with heads of another shape.
    ("gemma4_text", dict(G4)), ("gemma4_text", dict(G4, attention_k_eq_v=True, num_global_key_value_heads=2, global_head_dim=96)),
    ("gemma4_text", dict(G4, num_hidden_layers=12, num_kv_shared_layers=3)), ("gemma4_text", dict(G4, attention_bias=True)),
    ("gemma4_text", dict(G4, enable_moe_block=True, num_experts=8, top_k_experts=2, moe_intermediate_size=256, num_global_key_value_heads=2)),
    ("gemma4_unified_text", dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=8)),
    ("mimo_v2_flash", dict(num_hidden_layers=3, n_routed_experts=4, num_experts_per_tok=2)),
    ("mimo_v2_flash", dict(hidden_size=768, intermediate_size=2048, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=2, head_dim=96, v_head_dim=64, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=256, vocab_size=1000, attention_bias=True, layer_types=["sliding_attention"] * 4 + ["full_attention"] * 4, mlp_layer_types=["dense", "dense"] + ["sparse"] * 6)),
    # Widths that a file states in its own way.
    ("mamba", dict(hidden_size=768, num_hidden_layers=2, expand=2, intermediate_size=2048)), ("falcon_mamba", dict(hidden_size=1024, num_hidden_layers=2, expand=16, intermediate_size=2048)),
    ("llama4_text", dict(L4, intermediate_size_mlp=2048)), ("llama4_text", L4),
    ("granitemoehybrid", dict(num_hidden_layers=4, num_local_experts=4, num_experts_per_tok=2, shared_intermediate_size=0, layer_types=["mamba", "attention", "mamba", "mamba"])),
    ("phimoe", dict(num_hidden_layers=2, lm_head_bias=True)),
    # Further kinds.
    ("hunyuan_v1_dense", dict(S, head_dim=96)), ("hunyuan_v1_moe", dict(S, head_dim=64, num_experts=4, moe_topk=[2, 2, 2], moe_intermediate_size=[2304] * 3, num_shared_expert=[1] * 3)),
    ("granitemoeshared", dict(S, shared_intermediate_size=512)), ("granitemoeshared", dict(S)), ("solar_open", dict(S, n_routed_experts=8, num_experts_per_tok=2)),
    ("ministral3", L), ("ministral3", dict(S)), ("qwen3_next", dict(num_hidden_layers=4, hidden_size=512, head_dim=96, num_experts=8, num_experts_per_tok=2)),
    ("gpt_bigcode", dict(n_layer=2, n_head=12, num_key_value_heads=4)), ("gpt_bigcode", dict(n_layer=2, multi_query=False)),
    ("qwen2_moe", dict(S, num_experts=4, num_experts_per_tok=2, qkv_bias=False)),
]

# Kinds whose shapes are those of their rows under ../measured.
OF_ROWS = [
    "diffllama",
    "glm_moe_dsa",
    "deepseek_v32",
    "cohere2_moe",
    "laguna",
    "afmoe",
    "axk1",
    "bitnet",
    "bart",
    "mbart",
    "plbart",
    "blenderbot",
    "blenderbot-small",
    "pegasus",
    "marian",
    "m2m_100",
    "whisper",
    "gemma4_text",
    "minimax_m3_vl_text",
    "modernbert-decoder",
    "trocr",
]
CASES += [(kind, dict(architectures=[named], **shape)) for kind, named, shape in BESIDE]
# Decoders saved without their encoders; those of rows stand among these.
CASES += [(kind, dict(architectures=[named], **shape)) for kind, named, shape in (
    ("bart", "BartForCausalLM", dict(d_model=1024, decoder_layers=2, tie_word_embeddings=False)), ("mvp", "MvpForCausalLM", dict(X)),
    ("bigbird_pegasus", "BigBirdPegasusForCausalLM", dict(X, use_bias=True)), ("prophetnet", "ProphetNetForCausalLM", dict(hidden_size=256, num_decoder_layers=2, num_decoder_attention_heads=8, decoder_ffn_dim=512, vocab_size=1000)),
    ("prophetnet", "ProphetNetForCausalLM", dict(hidden_size=256, num_decoder_layers=3, num_decoder_attention_heads=4, decoder_ffn_dim=768, vocab_size=1003, ngram=3, tie_word_embeddings=False)),
    ("udop", "UdopForConditionalGeneration", dict(d_model=256, d_ff=512, d_kv=48, num_heads=4, num_layers=3, num_decoder_layers=2, vocab_size=1000, patch_size=8, max_2d_position_embeddings=300, relative_attention_num_buckets=24)),
    ("pix2struct", "Pix2StructForConditionalGeneration", dict(text_config=dict(hidden_size=256, d_ff=512, d_kv=48, num_heads=4, num_layers=3, vocab_size=1000), vision_config=dict(hidden_size=256, d_ff=384, d_kv=32, num_attention_heads=8, num_hidden_layers=2, patch_embed_hidden_size=192, seq_len=100))),
    ("trocr", "TrOCRForCausalLM", dict(d_model=512, decoder_layers=3, decoder_attention_heads=8, decoder_ffn_dim=1536, cross_attention_hidden_size=384, vocab_size=1000)),
)]
for kind in OF_ROWS:
    path = os.path.join(os.path.dirname(__file__), "../measured", kind.replace("-", "_") + ".jsonl")
    shapes = [json.dumps(json.loads(line)["config"]) for line in open(path)]
    CASES += [(kind, {key: value for key, value in json.loads(shape).items() if key != "model_type"}) for shape in dict.fromkeys(shapes)]


# Text parts that have a class of their own.
CAUSAL = ["minimax_m3_vl_text"]
# Kinds of which parameters are counted alone, or whose modules are assumed.
SMALL = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, vocab_size=1000)
NARROW = dict(SMALL, q_lora_rank=96, kv_lora_rank=64, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=32, moe_intermediate_size=128, n_routed_experts=8, num_experts_per_tok=2)
CASES += [
    ("axk2", dict(NARROW, attention_bias=True, mlp_layer_types=["dense", "sparse", "sparse", "dense"])), ("hy_v4", dict(NARROW, pad_token_id=1, hc_mult=3, indexer_types=["full", "full", "shared", "full"])), ("hy_v4", dict(NARROW, pad_token_id=1)),
    ("deepseek_v4", dict(hidden_size=256, num_hidden_layers=5, num_attention_heads=8, head_dim=64, q_lora_rank=96, o_groups=4, o_lora_rank=48, index_n_heads=4, index_head_dim=32, hc_mult=2, moe_intermediate_size=128, n_routed_experts=8, num_experts_per_tok=2, vocab_size=1000, num_nextn_predict_layers=0)),
    ("doge", dict(SMALL, num_key_value_heads=2, attention_bias=True)), ("jetmoe", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_key_value_heads=4, kv_channels=32, num_local_experts=4, vocab_size=1000)),
    ("longcat_flash", dict(hidden_size=256, ffn_hidden_size=512, expert_ffn_hidden_size=96, num_layers=2, num_attention_heads=4, q_lora_rank=96, kv_lora_rank=64, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=32, n_routed_experts=8, zero_expert_num=4, moe_topk=2, vocab_size=1000)),
    ("cpmant", dict(hidden_size=256, num_attention_heads=4, dim_head=32, dim_ff=512, num_hidden_layers=3, vocab_size=1000, prompt_length=8)), ("xlnet", dict(d_model=256, n_layer=3, n_head=4, d_inner=512, vocab_size=1000)),
    ("ctrl", dict(n_embd=256, dff=512, n_layer=3, n_head=4, vocab_size=1000)), ("xglm", dict(d_model=256, ffn_dim=512, num_layers=3, attention_heads=4, vocab_size=1000)), ("openai-gpt", dict(n_embd=256, n_layer=3, n_head=4, vocab_size=1000, n_positions=128)),
    ("moshi", dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=96, ffn_dim=768, vocab_size=1000)),
]
CASES += [
    ("gpt_neox_japanese", dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, vocab_size=1000, intermediate_multiple_size=3, tie_word_embeddings=False)),
    ("zaya", dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=32, moe_intermediate_size=128, num_experts=4, router_hidden_size=48, cca_time0=3, cca_time1=4, attention_bias=True, lm_head_bias=True, tie_word_embeddings=False, vocab_size=1000)),
    ("inkling_text", dict(SMALL, num_key_value_heads=2, head_dim=32, moe_intermediate_size=64, n_routed_experts=8, n_shared_experts=1, num_experts_per_tok=2, d_rel=8, rel_extent=64, conv_kernel_size=3, sliding_window_size=32, swa_head_dim=48, swa_num_attention_heads=6, swa_num_key_value_heads=3, layer_types=["hybrid", "hybrid_sliding", "hybrid_sliding", "hybrid"], mlp_layer_types=["dense", "sparse", "sparse", "sparse"])),
    ("inkling2_text", dict(hidden_size=256, num_hidden_layers=7, num_attention_heads=4, num_key_value_heads=2, head_dim=32, moe_intermediate_size=64, n_routed_experts=8, num_experts_per_tok=2, d_rel=8, rel_extent=64, conv_kernel_size=3, sliding_window_size=32, swa_head_dim=48, swa_num_attention_heads=6, swa_num_key_value_heads=3, vocab_size=1000)),
    ("inkling2_text", dict(hidden_size=256, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=32, moe_intermediate_size=64, n_routed_experts=8, num_experts_per_tok=2, swa_num_attention_heads=4, layer_types=["hybrid", "hybrid_sliding", "hybrid"], vocab_size=1000)),
    ("dots3_note_text", dict(NARROW, pad_token_id=0, num_key_value_heads=4, v_head_dim=24, num_hidden_layers=7, index_n_heads=8, index_head_dim=32, n_shared_experts=2, shared_experts_intermediate_size=96, attention_bias=True)),
    ("dots3_note_text", dict(NARROW, pad_token_id=0, num_key_value_heads=4, num_hidden_layers=4, layer_types=["indexed_attention", "sliding_attention", "indexed_attention", "sliding_attention"], mlp_layer_types=["sparse", "dense", "sparse", "sparse"], per_layer_config={"1": dict(num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=48, head_dim=80, qk_nope_head_dim=64, v_head_dim=40), "3": dict(num_attention_heads=2, num_key_value_heads=2, kv_lora_rank=48, head_dim=80, qk_nope_head_dim=64, v_head_dim=40)})),
    ("hrm_text", dict(hidden_size=256, intermediate_size=512, num_layers_per_stack=2, num_attention_heads=4, head_dim=48, attention_bias=True, mlp_bias=True, vocab_size=1000)),
    ("muse_spark_text", dict(num_hidden_layers=2, moe_hidden_size=128, vocab_size=1000)),
    ("mistral_large4_text", dict(SMALL, num_key_value_heads=4, moe_intermediate_size=128, n_routed_experts=8, num_experts_per_tok=2, kv_lora_rank=64, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=40, index_n_heads=4, index_head_dim=48)),
    ("glm5_next_text", dict(NARROW, pad_token_id=0, num_hidden_layers=9, qk_rope_head_dim=0, num_key_value_heads=4, linear_num_heads=3, linear_head_dim=32, hc_mult=2, tie_word_embeddings=False)),
    ("kosmos_2_5_text_model", dict(embed_dim=256, ffn_dim=512, layers=3, attention_heads=4, vocab_size=1000, tie_word_embeddings=True)),
    ("voxtral_realtime_text", dict(SMALL, num_key_value_heads=2, head_dim=48, tie_word_embeddings=True)),
    ("kyutai_speech_to_text", dict(hidden_size=256, ffn_dim=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=48, vocab_size=1000, num_codebooks=4, codebook_vocab_size=65, audio_pad_token_id=64, audio_bos_token_id=63)),
    ("blt", dict(vocab_size=300, cross_attn_k=3, encoder_hash_byte_group_size=[3, 4], encoder_hash_byte_group_vocab=500, encoder_hash_byte_group_nb_functions=2, encoder_config=dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, cross_attn_k=3, cross_attn_all_layers=True, hidden_size_global=256), global_config=dict(hidden_size=256, intermediate_size=320, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2), decoder_config=dict(hidden_size=128, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4, cross_attn_k=3, cross_attn_all_layers=False, hidden_size_global=256), patcher_config=dict(hidden_size=96, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4))),
    ("moshi", dict(hidden_size=256, ffn_dim=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, head_dim=48, vocab_size=1000, architectures=["MoshiForCausalLM"])),
]
SPEECH = ["voxtral_realtime", "kyutai_speech_to_text"]
# Kinds that read sound, or write codes of it: decoders counted alone, with the encoders that stand before them.
SIDE = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=64)
PARAKEET = dict(model_type="parakeet_encoder", hidden_size=128, intermediate_size=256, num_hidden_layers=3, num_attention_heads=4, num_mel_bins=40, subsampling_conv_channels=64, conv_kernel_size=5)
SEAMLESS = dict(hidden_size=256, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=512, vocab_size=1000, speech_encoder_layers=3, speech_encoder_intermediate_size=384, speech_encoder_attention_heads=8, feature_projection_input_dim=80, conv_depthwise_kernel_size=15, num_adapter_layers=2)
CASES += [
    ("speech_to_text", dict(architectures=["Speech2TextForConditionalGeneration"], d_model=256, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=384, vocab_size=1000, conv_channels=512, input_feat_per_channel=40)),
    ("moonshine", dict(architectures=["MoonshineForConditionalGeneration"], hidden_size=256, intermediate_size=512, encoder_num_hidden_layers=3, decoder_num_hidden_layers=2, encoder_num_attention_heads=8, encoder_num_key_value_heads=4, decoder_num_attention_heads=4, decoder_num_key_value_heads=2, vocab_size=1000, attention_bias=True)),
    ("canary", dict(architectures=["CanaryForConditionalGeneration"], encoder_config=PARAKEET, decoder_config=dict(SIDE, model_type="canary_decoder", vocab_size=1000), vocab_size=1000)),
    ("cohere_asr", dict(SIDE, architectures=["CohereAsrForConditionalGeneration"], encoder_config=PARAKEET, vocab_size=1000, max_position_embeddings=128, attention_bias=False)),
    ("dia", dict(architectures=["DiaForConditionalGeneration"], encoder_config=dict(SIDE, model_type="dia_encoder"), decoder_config=dict(SIDE, model_type="dia_decoder", num_channels=4, cross_num_attention_heads=2, cross_num_key_value_heads=1, cross_head_dim=32, cross_hidden_size=256, vocab_size=300), delay_pattern=[0, 1, 2, 3])),
    ("voxtral_realtime", dict(architectures=["VoxtralRealtimeForConditionalGeneration"], audio_config=dict(SIDE, model_type="voxtral_realtime_encoder", num_key_value_heads=4, num_mel_bins=40), text_config=dict(SIDE, model_type="voxtral_realtime_text", vocab_size=1000), hidden_size=256)),
    ("kyutai_speech_to_text", dict(architectures=["KyutaiSpeechToTextForConditionalGeneration"], hidden_size=256, ffn_dim=768, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, vocab_size=500, codebook_vocab_size=65, num_codebooks=4, audio_pad_token_id=0, audio_bos_token_id=64, codec_config=dict(model_type="mimi", num_hidden_layers=2, intermediate_size=256))),
    ("speecht5", dict(architectures=["SpeechT5ForSpeechToText"], hidden_size=256, encoder_layers=3, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=8, encoder_ffn_dim=512, decoder_ffn_dim=384, encoder_max_relative_position=40)),
    ("seamless_m4t", dict(SEAMLESS, architectures=["SeamlessM4TForSpeechToText"], adaptor_kernel_size=4)), ("seamless_m4t_v2", dict(SEAMLESS, architectures=["SeamlessM4Tv2ForSpeechToText"], tie_word_embeddings=False)),
]
# Encoders of which parameters are counted alone.
CASES += [
    ("squeezebert", dict(B, architectures=["SqueezeBertForMaskedLM"], embedding_size=512)), ("convbert", dict(B, architectures=["ConvBertForMaskedLM"], embedding_size=256, head_ratio=4, conv_kernel_size=5)), ("fnet", dict(architectures=["FNetForMaskedLM"], hidden_size=512, intermediate_size=1536, num_hidden_layers=3, vocab_size=4000, type_vocab_size=3)),
    ("mobilebert", dict(B, architectures=["MobileBertForMaskedLM"], embedding_size=96, intra_bottleneck_size=64, num_feedforward_networks=3)), ("ultrabert", dict(SM, architectures=["UltrabertForMaskedLM"], head_dim=96, prediction_head_size=128, attention_bias=True, tie_word_embeddings=True)),
]
# Classes of other tasks, and models without a head.
THREE = {str(label): f"LABEL_{label}" for label in range(3)}
PAGE = dict(B, max_position_embeddings=514)
CASES += [
    *[(kind, dict(shape, architectures=[stem + "Model"])) for kind, stem, shape in (("bert", "Bert", B), ("xlm-roberta", "XLMRoberta", PAGE), ("distilbert", "DistilBert", dict(dim=512, hidden_dim=1536, n_layers=3, n_heads=8, vocab_size=4000)), ("modernbert", "ModernBert", dict(B, pad_token_id=1)), ("qwen3", "Qwen3", SM), ("gemma2", "Gemma2", SM))],
    *[(kind, dict(shape, architectures=[f"{stem}For{task}"], **({} if task == "QuestionAnswering" else dict(id2label=THREE)))) for kind, stem, shape in (("bert", "Bert", B), ("roberta", "Roberta", PAGE), ("deberta-v2", "DebertaV2", B), ("electra", "Electra", dict(B, embedding_size=96)), ("qwen3", "Qwen3", dict(SM, pad_token_id=0))) for task in ("SequenceClassification", "TokenClassification", "QuestionAnswering")],
]
# Families that a part of a file tells, or its class.
CALLED = {"canary": "canary_decoder", "dia": "dia_decoder", "voxtral_realtime": "voxtral_realtime_text"}


def called(kind, keys):
    """The kind by which a family is known."""
    speaks = kind.startswith("seamless") and "SpeechToText" in keys.get("architectures", [""])[0]
    return kind + "_speech" if speaks else CALLED.get(kind, kind)


# Parts for text that have no class of their own: the kind of the whole model, and its parts beside the text.
OF_WHOLE = {
    "qwen3_omni_moe_text": ("qwen3_omni_moe_thinker", ["model.audio_tower", "model.visual"]), "paddleocr_vl_text": ("paddleocr_vl", ["model.visual", "model.projector"]), "glm_ocr_text": ("glm_ocr", ["model.visual"]),
    "cosmos3_edge_text": ("cosmos3_edge", ["model.visual", "model.projector"]), "step3p5": ("step3p7", ["model.vision_model", "model.multi_modal_projector"]),
    "muse_glimmer_text": ("muse_glimmer", ["model.vision_tower", "model.vision_adapter", "model.vision_projection"]), "qwen3_vl_moe_text": ("qwen3_vl_moe", ["model.visual"]),
    "muse_spark_text": ("muse_spark", ["model.vision_tower", "model.vision_adapter", "model.vision_projection", "model.audio_tower"]), "mistral_large4_text": ("mistral_large4", ["model.vision_tower", "model.multi_modal_projector"]),
    "glm5_next_text": ("glm5_next", ["model.visual"]), "kosmos_2_5_text_model": ("kosmos-2.5", ["vision_model", "image_to_text_projection"]),
    "voxtral_realtime_text": ("voxtral_realtime", ["model.audio_tower", "model.multi_modal_projector"]), "kyutai_speech_to_text": ("kyutai_speech_to_text", ["codec_model"]),
}


def built(kind, keys):
    """The model of a file; of a kind that is only ever a part for text, that part and the head of the whole model."""
    if kind in OF_WHOLE:
        whole, parts = OF_WHOLE[kind]
        around = dict(keys) if kind == whole else dict(text_config=dict(keys), tie_word_embeddings=keys.get("tie_word_embeddings", False))
        of = transformers.AutoModelForSpeechSeq2Seq if whole in SPEECH else transformers.AutoModelForImageTextToText
        model = of.from_config(CONFIG_MAPPING[whole](**around))
        for part in parts:
            inside, _, name = part.rpartition(".")
            delattr(model.get_submodule(inside), name)
        return model
    if kind.endswith("_vl_text") and kind not in CAUSAL:
        whole = CONFIG_MAPPING[kind.removesuffix("_text")](text_config=dict(keys), tie_word_embeddings=keys.get("tie_word_embeddings", False))
        model = transformers.AutoModelForImageTextToText.from_config(whole)
        del model.model.visual
        return model
    named = keys.get("architectures")
    config = CONFIG_MAPPING[kind](**{key: dict(value) if isinstance(value, dict) else value for key, value in keys.items() if key != "architectures"})
    return getattr(transformers, named[0])(config) if named else AutoModelForCausalLM.from_config(config)


for kind, keys in FURTHER if sys.argv[1:] == ["further"] else CASES:
    try:
        with torch.device("meta"):
            model = built(kind, keys)
        row = dict(model=called(kind, keys), parameters=sum(p.numel() for p in model.parameters()), config=dict(model_type=kind, **keys))
        print(json.dumps(row))
    except Exception as error:
        print(kind, keys, repr(error)[:200], file=sys.stderr)
