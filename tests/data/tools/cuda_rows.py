"""Random plausible training steps on one GPU, of small models of many families, for the truth tools' measure_cuda.py.

    python tests/data/tools/cuda_rows.py SEED COUNT [KIND,KIND] > rows.jsonl
    python ../truth/tools/pretend_gpu/measure_cuda.py rows.jsonl measured.jsonl

The order of families is drawn too, so that every family comes once before one comes twice. Models drop nothing out.
"""
import hashlib
import json
import random
import sys

import transformers

transformers.logging.set_verbosity_error()


def heads(R, width):
    """Heads of 64, 80, 96 or 128 that fill a width, with some groups."""
    head = R.choice([each for each in (64, 80, 96, 128) if width % each == 0])
    count = width // head
    return head, count, R.choice([each for each in (1, 2, 4, 8, count) if count % each == 0])


def of(R, kind, widths=(768, 1024, 1536, 2048, 2560), **keys):
    """A decoder whose file has Llama's keys."""
    width = R.choice(widths)
    head, count, groups = heads(R, width)
    inner = R.choice([2, 3, 4]) * width + R.choice([0, 0, 256, 64])
    words = R.choice([32000, 49152, 50304, 65024, 100352, 128256, 151936])
    sizes = dict(model_type=kind, hidden_size=width, intermediate_size=inner, num_hidden_layers=R.randint(2, 6), num_attention_heads=count,
                 num_key_value_heads=groups, head_dim=head, vocab_size=words, max_position_embeddings=16384,
                 tie_word_embeddings=R.random() < 0.5, attention_dropout=0.0, pad_token_id=0)
    return {**sizes, **keys}


def without(keys, *names):
    return {key: value for key, value in keys.items() if key not in names}


def all_heads(keys):
    return dict(keys, num_key_value_heads=keys["num_attention_heads"])


def experts(R, keys, count="num_experts", inner="moe_intermediate_size", **further):
    width = R.choice([256, 512, 768])
    return {**keys, count: R.choice([8, 16, 32]), "num_experts_per_tok": R.choice([1, 2, 4]), **({inner: width} if inner else {}), **further}


NO_DROPOUT = dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
PLAIN = "llama qwen2 qwen3 mistral gemma cohere2 glm4 seed_oss arcee ministral helium hunyuan_v1_dense exaone4 ernie4_5 smollm3 apertus granite olmo olmo2 olmo3 cwm nanochat vaultgemma youtu".split()


def plain(kind):
    def drawn(R):
        keys = of(R, kind)
        if kind in ("olmo",):
            keys = without(keys, "head_dim")
        if kind in ("gemma", "vaultgemma"):
            keys.update(hidden_activation="gelu_pytorch_tanh")
        if kind == "vaultgemma":
            keys.update(sliding_window=512, query_pre_attn_scalar=keys["head_dim"])
        if kind in ("mistral", "ministral", "olmo3", "cohere2"):
            keys.update(sliding_window=R.choice([512, 1024, 4096]))
        if kind == "granite":
            keys.update(attention_multiplier=0.0156, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22)
        if kind == "youtu":
            keys = dict(without(keys, "head_dim"), kv_lora_rank=256, q_lora_rank=R.choice([None, 512]), qk_rope_head_dim=32, qk_nope_head_dim=64, v_head_dim=64)
            keys["num_key_value_heads"] = keys["num_attention_heads"]
        return keys
    return drawn


def gpt2(R):
    width = R.choice([512, 768, 1024, 1280])
    return dict(model_type="gpt2", n_embd=width, n_layer=R.randint(2, 6), n_head=width // 64, n_positions=8192, vocab_size=50257, **NO_DROPOUT)


def gpt_neo(R):
    width = R.choice([512, 768, 1024])
    return dict(model_type="gpt_neo", hidden_size=width, num_layers=4, num_heads=width // 64, attention_types=[[["global", "local"], 2]], window_size=256, max_position_embeddings=8192, vocab_size=50257, resid_dropout=0.0, embed_dropout=0.0, attention_dropout=0.0)


def gptj(R):
    return dict(model_type=R.choice(["gptj", "codegen"]), n_embd=1024, n_layer=R.randint(2, 4), n_head=16, rotary_dim=R.choice([32, 64]), n_positions=8192, vocab_size=R.choice([50400, 51200]), **NO_DROPOUT)


def bigcode(R):
    width = R.choice([768, 1024, 2048])
    return dict(model_type="gpt_bigcode", n_embd=width, n_layer=R.randint(2, 5), n_head=width // 64, n_positions=8192, vocab_size=49152, multi_query=R.random() < 0.7, **NO_DROPOUT)


def neox(R):
    keys = without(of(R, "gpt_neox"), "num_key_value_heads", "head_dim")
    return dict(keys, rotary_pct=R.choice([0.25, 0.5, 1.0]), use_parallel_residual=R.random() < 0.7, hidden_dropout=0.0, classifier_dropout=0.0, attention_bias=R.random() < 0.7)


def bloom(R):
    width = R.choice([768, 1024, 1536])
    return dict(model_type="bloom", hidden_size=width, n_layer=R.randint(2, 5), n_head=width // 64, vocab_size=R.choice([50304, 250880]), hidden_dropout=0.0, attention_dropout=0.0)


def falcon(R):
    width = R.choice([768, 1024, 2048])
    new = R.random() < 0.5
    return dict(model_type="falcon", hidden_size=width, num_hidden_layers=R.randint(2, 5), num_attention_heads=width // 64, vocab_size=65024, new_decoder_architecture=new, num_kv_heads=4 if new else None, multi_query=R.random() < 0.7, parallel_attn=R.random() < 0.8, bias=R.random() < 0.3, alibi=False, hidden_dropout=0.0, attention_dropout=0.0)


def opt(R):
    width = R.choice([768, 1024, 2048])
    return dict(model_type="opt", hidden_size=width, ffn_dim=4 * width, num_hidden_layers=R.randint(2, 5), num_attention_heads=width // 64, vocab_size=50272, max_position_embeddings=8192, word_embed_proj_dim=R.choice([width, width, 512]), do_layer_norm_before=True, dropout=0.0, attention_dropout=0.0, layerdrop=0.0)


def xglm(R):
    return dict(model_type=R.choice(["xglm", "biogpt"]), **R.choice([dict(d_model=1024, ffn_dim=4096, num_layers=4, attention_heads=16, hidden_size=1024, intermediate_size=4096, num_hidden_layers=4, num_attention_heads=16)]), vocab_size=50304, max_position_embeddings=8192, dropout=0.0, attention_dropout=0.0, activation_dropout=0.0, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, layerdrop=0.0)


def mpt(R):
    width = R.choice([768, 1024, 2048])
    return dict(model_type="mpt", d_model=width, n_heads=width // 64, n_layers=R.randint(2, 5), expansion_ratio=4, max_seq_len=8192, vocab_size=50368, resid_pdrop=0.0, emb_pdrop=0.0, attn_config=dict(attn_pdrop=0.0))


def gemma2(R):
    return dict(of(R, "gemma2", attn_logit_softcapping=R.choice([None, 50.0]), final_logit_softcapping=R.choice([None, 30.0])), sliding_window=R.choice([1024, 4096]), query_pre_attn_scalar=128)


def gemma3(R):
    return dict(of(R, "gemma3_text"), sliding_window=R.choice([512, 1024]), layer_types=None) if False else dict(of(R, "gemma3_text"), sliding_window=R.choice([512, 1024]))


def phi(R):
    return dict(without(of(R, "phi"), "head_dim"), partial_rotary_factor=R.choice([0.4, 0.5]), resid_pdrop=0.0, embd_pdrop=0.0, qk_layernorm=R.random() < 0.3)


def phi3(R):
    return dict(without(of(R, "phi3"), "head_dim"), resid_pdrop=0.0, embd_pdrop=0.0, sliding_window=R.choice([None, 2047]))


def stablelm(R):
    return dict(without(of(R, "stablelm"), "head_dim"), use_qkv_bias=R.random() < 0.5, use_parallel_residual=R.random() < 0.4, qk_layernorm=R.random() < 0.3, partial_rotary_factor=0.25, hidden_dropout=0.0)


def starcoder2(R):
    return dict(without(of(R, "starcoder2"), "head_dim"), residual_dropout=0.0, embedding_dropout=0.0, sliding_window=R.choice([None, 4096]))


def nemotron(R):
    return dict(of(R, "nemotron"), partial_rotary_factor=0.5)


def persimmon(R):
    return dict(without(of(R, "persimmon"), "head_dim", "num_key_value_heads"), partial_rotary_factor=0.5, hidden_dropout=0.0, qk_layernorm=R.random() < 0.6)


def cohere(R):
    return dict(without(of(R, "cohere"), "head_dim"), use_qk_norm=R.random() < 0.4, logit_scale=0.0625)


def glm(R):
    return dict(of(R, "glm"), partial_rotary_factor=0.5, attention_bias=R.random() < 0.5)


def diffllama(R):
    return without(of(R, "diffllama"), "head_dim")


def bitnet(R):
    return without(of(R, "bitnet"), "head_dim")


def mixtral(R):
    return experts(R, of(R, "mixtral", sliding_window=None), "num_local_experts", None, intermediate_size=R.choice([512, 1024, 1536]))


def moe(kind, count="num_experts", inner="moe_intermediate_size", **further):
    return lambda R: experts(R, of(R, kind), count, inner, **further)


def olmoe(R):
    return experts(R, without(of(R, "olmoe"), "head_dim"), "num_experts", None, intermediate_size=R.choice([512, 1024]))


def deepseek(R):
    keys = all_heads(without(of(R, R.choice(["deepseek_v3", "deepseek_v2", "glm4_moe_lite"])), "head_dim"))
    return experts(R, keys, "n_routed_experts", n_shared_experts=1, first_k_dense_replace=1, n_group=1, topk_group=1, kv_lora_rank=256, q_lora_rank=R.choice([None, 512]) if keys["model_type"] != "glm4_moe_lite" else 512, qk_rope_head_dim=32, qk_nope_head_dim=64, v_head_dim=R.choice([64, 96]))


def gpt_oss(R):
    return experts(R, of(R, "gpt_oss", head_dim=64, sliding_window=128), "num_local_experts", None, intermediate_size=R.choice([512, 1024]))


def granitemoe(R):
    return experts(R, without(of(R, R.choice(["granitemoe", "granitemoeshared"])), "head_dim"), "num_local_experts", None, intermediate_size=512, shared_intermediate_size=512)


def glm4_moe(R):
    return experts(R, of(R, R.choice(["glm4_moe", "dots1"])), "n_routed_experts", n_shared_experts=1, first_k_dense_replace=1, n_group=1, topk_group=1, partial_rotary_factor=0.5)


def ernie_moe(R):
    keys = experts(R, without(of(R, "ernie4_5_moe"), "head_dim"), "moe_num_experts", moe_num_shared_experts=R.choice([0, 2]), moe_layer_start_index=1, moe_k=2, num_hidden_layers=4, moe_layer_end_index=3)
    return without(keys, "num_experts_per_tok")


FAMILIES = {
    **{kind: plain(kind) for kind in PLAIN},
    "gpt2": gpt2, "gpt_neo": gpt_neo, "gptj": gptj, "gpt_bigcode": bigcode, "gpt_neox": neox, "bloom": bloom, "falcon": falcon, "opt": opt,
    "xglm": xglm, "mpt": mpt, "gemma2": gemma2, "gemma3_text": gemma3, "phi": phi, "phi3": phi3, "stablelm": stablelm, "starcoder2": starcoder2, "nemotron": nemotron,
    "persimmon": persimmon, "cohere": cohere, "glm": glm, "diffllama": diffllama, "bitnet": bitnet, "mixtral": mixtral, "olmoe": olmoe,
    "qwen3_moe": moe("qwen3_moe"), "qwen2_moe": moe("qwen2_moe", shared_expert_intermediate_size=512), "phimoe": lambda R: experts(R, without(of(R, "phimoe", sliding_window=None), "head_dim"), "num_local_experts", None, intermediate_size=768),
    "minimax_m2": moe("minimax_m2", "num_local_experts", None, intermediate_size=768), "flex_olmo": lambda R: experts(R, without(of(R, "flex_olmo"), "head_dim"), "num_experts", None, intermediate_size=768),
    "deepseek": deepseek, "gpt_oss": gpt_oss, "granitemoe": granitemoe, "glm4_moe": glm4_moe, "ernie4_5_moe": ernie_moe,
    "afmoe": moe("afmoe", num_dense_layers=1, num_shared_experts=1, sliding_window=512), "hunyuan_v1_moe": lambda R: experts(R, of(R, "hunyuan_v1_moe"), "num_experts", None, moe_topk=2, intermediate_size=768),
}
CONFS = ["", "", "", "expandable_segments:True", "expandable_segments:True", "max_split_size_mb:{m}", "roundup_power2_divisions:{d}", "garbage_collection_threshold:{g}",
         "expandable_segments:True,roundup_power2_divisions:{d}", "max_split_size_mb:{m},garbage_collection_threshold:{g}"]
EAGER = ("bloom", "mpt", "gptj", "codegen", "gpt_neo")


def run(R, config):
    """A run whose tensors stay below the card's memory: few tokens where scores are stored."""
    length = R.choice([1024, 1024, 1500, 2048, 2048, 3000, 4096, 8192])
    batch = R.choice([each for each in (1, 2, 3, 4, 8) if each * length <= 16384])
    attention = R.choice(["flash", "flash", "sdpa", "eager"])
    if config["model_type"] in EAGER or attention == "eager" or config.get("attn_logit_softcapping"):
        attention, length = "eager", min(length, 2048)
        batch = min(batch, 4)
    conf = R.choice(CONFS).format(m=R.choice([64, 128, 256, 512]), d=R.choice([1, 2, 4, 8]), g=R.choice([0.6, 0.8]))
    optimizer = R.choice(["adamw"] * 7 + ["sgd_momentum", "adafactor"])
    how = R.choice(["for_loop", "foreach", "fused"]) if optimizer == "adamw" else "foreach" if optimizer == "sgd_momentum" else "for_loop"
    more = lambda share, **keys: keys if R.random() < share else {}
    return dict(seq_length=length, micro_batch_size=batch, precision=R.choice(["bf16", "bf16", "amp_bf16", "fp32"]), attention=attention,
                recompute=R.choice(["none", "none", "full"]), optimizer=optimizer, optimizer_implementation=how, alloc_conf=conf,
                **more(0.35, gradient_accumulation_steps=R.randint(2, 4)), **more(0.25, cublas_workspace_cache=True),
                **more(0.2, zero_grad="to_zero"), **more(0.1, build="meta"))


def main(seed, count, only):
    R = random.Random(int(seed))
    kinds = [kind for kind in FAMILIES if not only or kind in only]
    order = []
    for number in range(int(count)):
        if not order:
            order = R.sample(kinds, len(kinds))
        config = FAMILIES[order.pop()](R)
        row = dict(model=config["model_type"], config=config, run=run(R, config), parallel={})
        row["id"] = hashlib.sha1(json.dumps([seed, number, row], sort_keys=True).encode()).hexdigest()[:10]
        print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3].split(",") if len(sys.argv) > 3 else [])
