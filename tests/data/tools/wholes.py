"""Parameters of whole models whose texts cannot be trained without an image, or that the memory tracker does not run.

    python tests/data/tools/wholes.py > tests/data/truth/parameters_wholes.jsonl

Needs torch and transformers; nothing is downloaded.
"""
import json
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from transformers import CONFIG_MAPPING

transformers.logging.set_verbosity_error()
TEXT = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=1000)
VISION = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14)
SAM = dict(hidden_size=64, num_hidden_layers=3, num_attention_heads=4, image_size=64, patch_size=16, window_size=2, global_attn_indexes=[1], output_channels=32)
OPT = dict(model_type="opt", hidden_size=256, ffn_dim=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000, word_embed_proj_dim=256)
QFORMER = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, encoder_hidden_size=64)
CASES = [
    ("blip-2", "Blip2ForConditionalGeneration", dict(text_config=OPT, vision_config=dict(VISION, qkv_bias=False), qformer_config=QFORMER)),
    ("instructblip", "InstructBlipForConditionalGeneration", dict(text_config=OPT, vision_config=VISION, qformer_config=dict(QFORMER, vocab_size=300))),
    ("deepseek_vl_hybrid", "DeepseekVLHybridForConditionalGeneration", dict(text_config=dict(TEXT, model_type="llama"), vision_config=dict(VISION, model_type="siglip_vision_model"), high_res_vision_config=dict(SAM, model_type="sam_vision_model"), tie_word_embeddings=False)),
    ("fuyu", "FuyuForCausalLM", dict(text_config=dict(model_type="persimmon", hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000), patch_size=14)),
    ("idefics", "IdeficsForVisionText2Text", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, vocab_size=1000, cross_layer_interval=2, vision_config=dict(embed_dim=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, image_size=56, patch_size=14))),
    ("git", "GitForCausalLM", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000, vision_config=VISION)),
    ("blip", "BlipForConditionalGeneration", dict(text_config=dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000, encoder_hidden_size=64), vision_config=VISION)),
    ("kosmos-2", "Kosmos2ForConditionalGeneration", dict(text_config=dict(embed_dim=256, ffn_dim=512, layers=2, attention_heads=4, vocab_size=1000), vision_config=VISION, latent_query_num=8)),
    ("evolla", "EvollaForProteinText2Text", dict(hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, vocab_size=1000, aligner_num_add_layers=2, resampler_depth=2, protein_encoder_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, vocab_size=100))),
    ("molmo2", "Molmo2ForConditionalGeneration", dict(text_config=dict(TEXT, head_dim=64), vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, head_dim=16, image_size=[56, 56], num_position_embeddings=16), adapter_config=dict(hidden_size=64, num_attention_heads=4, num_key_value_heads=4, head_dim=16, intermediate_size=128, text_hidden_size=256, vision_feature_layer=[0, 1]))),
    ("ernie4_5_vl_moe", "Ernie4_5_VLMoeForConditionalGeneration", dict(text_config=dict(TEXT, num_attention_heads=2, num_key_value_heads=1, moe_intermediate_size=[128, 64], moe_num_experts=8, moe_k=2, mlp_layer_types=["dense", "sparse"]), vision_config=dict(hidden_size=64, intermediate_size=128, depth=2, num_heads=4))),
    ("muse_glimmer", "MuseGlimmerForConditionalGeneration", dict(text_config=dict(TEXT, head_dim=64), vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, pos_emb_height=4, pos_emb_width=4), out_hidden_size=256, projector_hidden_size=128)),
    ("step3p7", "Step3p7ForConditionalGeneration", dict(text_config=dict(TEXT, num_hidden_layers=4, head_dim=64, n_routed_experts=8, num_experts_per_tok=2, moe_intermediate_size=128, share_expert_dim=128), vision_config=dict(VISION, mlp_ratio=2.0))),
    ("lfm3_vl", "Lfm3VlForConditionalGeneration", dict(text_config=dict(TEXT, num_hidden_layers=4, head_dim=64, pad_token_id=0, layer_types=["conv", "full_attention", "conv", "sliding_attention"]), vision_config=dict(hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, layer_types=["conv", "full_attention", "conv", "conv"]), projector_hidden_size=128)),
    ("florence2", "Florence2ForConditionalGeneration", dict(text_config=dict(model_type="bart", d_model=256, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=512, decoder_ffn_dim=512, vocab_size=1000), vision_config=dict(embed_dim=[32, 64, 128, 256], num_heads=[1, 2, 4, 8], num_groups=[1, 2, 4, 8], projection_dim=256))),
    ("mistral4", "Mistral4ForCausalLM", dict(hidden_size=256, intermediate_size=512, moe_intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, n_routed_experts=8, num_experts_per_tok=2, q_lora_rank=128, kv_lora_rank=64, qk_rope_head_dim=32, qk_nope_head_dim=32, v_head_dim=64, vocab_size=1000)),
]

for kind, name, keys in CASES:
    config = CONFIG_MAPPING[kind](**{key: dict(value) if isinstance(value, dict) else value for key, value in keys.items()})
    with torch.device("meta"):
        model = getattr(transformers, name)(config)
    # The text part says which kind it is, as the library writes it.
    whole = json.loads(config.to_json_string(use_diff=False))
    stated = {key: dict(value, model_type=whole[key].get("model_type", "")) if isinstance(value, dict) else value for key, value in keys.items()}
    print(json.dumps(dict(parameters=sum(parameter.numel() for parameter in model.parameters()), config=dict(model_type=kind, **stated))))
