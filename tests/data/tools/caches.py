"""Bytes that transformers' own caches hold of small models in bf16: decoders whose parameters are counted alone, whose
layers see chunks, or that are made of an encoder's modules: rows of truth/caches.jsonl.

One row a model: its file, sequences, and for each number of tokens the bytes that `past_key_values` holds once they are read. A layer that
slides lets its oldest token go before it returns; the bytes are those of the step itself, which sees a whole window (needs torch and
transformers; nothing is downloaded).
"""
import json
import sys
import warnings
from types import SimpleNamespace

warnings.filterwarnings("ignore")
import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM
from transformers.cache_utils import DynamicSlidingWindowLayer

transformers.logging.set_verbosity_error()
S = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, vocab_size=128)
T = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2)
E = dict(n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32)
MLA = dict(q_lora_rank=32, kv_lora_rank=24, qk_rope_head_dim=8, qk_nope_head_dim=16, v_head_dim=12)
INDEX = dict(index_n_heads=2, index_head_dim=16)
B = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, vocab_size=128, max_position_embeddings=64)
SEQUENCES = 2
# Kind, its keys, tokens.
CASES = [
    ("deepseek_v4", dict(S, **T, **E, **INDEX, num_hidden_layers=5, num_key_value_heads=1, head_dim=32, q_lora_rank=32, o_groups=2, o_lora_rank=16, sliding_window=32), [15, 63, 127, 255]),
    ("longcat_flash", dict({key: S[key] for key in ("hidden_size", "num_attention_heads", "vocab_size")}, **MLA, head_dim=8, num_layers=3, ffn_hidden_size=128, expert_ffn_hidden_size=32, n_routed_experts=4, zero_expert_num=2, moe_topk=2), [16, 48]),
    ("zaya", dict(S, **T, head_dim=16, num_experts=4, moe_intermediate_size=32, router_hidden_size=16), [16, 48]),
    ("zaya", dict(S, **T, head_dim=16, num_experts=4, moe_intermediate_size=32, router_hidden_size=16, cca_time0=3, cca_time1=2, sliding_window=32, layer_types=["hybrid", "hybrid_sliding"] * 2), [16, 48]),
    ("mistral_large4_text", dict(S, **MLA, **T, **E, **INDEX, num_key_value_heads=4), [16, 48]),
    ("glm5_next_text", dict(S, **T, **E, **INDEX, num_hidden_layers=8, num_key_value_heads=4, kv_lora_rank=24, q_lora_rank=32, qk_nope_head_dim=16, qk_rope_head_dim=0, v_head_dim=12, linear_num_heads=2, linear_head_dim=16, index_kpool=4), [16, 48]),
    ("inkling_text", dict(S, **T, **E, num_hidden_layers=6, head_dim=16, swa_num_attention_heads=4, swa_num_key_value_heads=1, swa_head_dim=32, sliding_window_size=32, d_rel=8, rel_extent=16), [16, 48]),
    ("inkling2_text", dict(S, **T, **E, num_hidden_layers=6, head_dim=16, swa_num_attention_heads=4, swa_num_key_value_heads=1, swa_head_dim=32, sliding_window_size=32, d_rel=8, rel_extent=16), [16, 48]),
    ("dots3_note_text", dict(S, **MLA, **T, **E, **INDEX, num_hidden_layers=6, num_key_value_heads=4, sliding_window=32), [16, 48]),
    ("jetmoe", dict(S, **T, kv_channels=16, num_local_experts=4), [16, 48]),
    ("doge", dict(S, **T), [16, 48]),
    ("hrm_text", dict(S, **T, head_dim=16, num_layers_per_stack=2, num_hidden_layers=16, num_key_value_heads=4), [16, 48]),
    ("cpmant", dict(hidden_size=64, dim_ff=128, num_hidden_layers=3, num_attention_heads=4, dim_head=24, vocab_size=128), [16, 48]),
    ("axk2", dict(S, **MLA, **T, **E, **INDEX, num_key_value_heads=4), [16, 48]),
    ("hy_v4", dict(S, **MLA, **T, **E, **INDEX), [16, 48]),
    ("moshi", dict(S, **T, head_dim=16), [16, 48]),
    ("gpt_neox_japanese", dict(S, **T, intermediate_multiple_size=2), [16, 48]),
    ("muse_spark_text", dict(S, **T, num_hidden_layers=5, head_dim=16, sliding_window=32, num_local_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, moe_hidden_size=32), [16, 48]),
    ("llama4_text", dict(S, **T, head_dim=16, num_local_experts=2, intermediate_size_mlp=128, attention_chunk_size=32), [16, 48]),
    ("llama4_text", dict(S, **T, head_dim=16, num_local_experts=2, intermediate_size_mlp=128, attention_chunk_size=32, no_rope_layers=[0, 1, 1, 1]), [16, 48]),
    ("xlnet", dict(d_model=64, n_layer=3, n_head=4, d_inner=128, vocab_size=128), [16, 48]),
    *[(kind, dict(B, is_decoder=True, **keys), [16, 48]) for kind, keys in (
        ("bert", {}), ("bert-generation", {}), ("big_bird", dict(attention_type="original_full")), ("camembert", {}), ("data2vec-text", {}), ("electra", dict(embedding_size=32)),
        ("ernie", {}), ("megatron-bert", {}), ("rembert", dict(input_embedding_size=32, output_embedding_size=32)), ("roberta", {}), ("roberta-prelayernorm", {}), ("roc_bert", dict(pronunciation_vocab_size=20, shape_vocab_size=20, pronunciation_embed_dim=8, shape_embed_dim=8)),
        ("roformer", {}), ("xlm-roberta", {}), ("xlm-roberta-xl", {}), ("xmod", dict(default_language="en_XX")))],
]


def tensors(value):
    """Tensors of a value, of its lists and dictionaries."""
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from tensors(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors(inner)


def parts(cache):
    """Layers of a cache; of one for an encoder and its decoder those of both."""
    if hasattr(cache, "self_attention_cache"):
        return [*cache.self_attention_cache.layers, *cache.cross_attention_cache.layers]
    return cache.layers


def held(cache, say):
    """Bytes of everything that the layers keep."""
    total, seen = 0, set()
    for index, layer in enumerate(parts(cache)):
        for name, value in vars(layer).items():
            for tensor in tensors(value):
                # Values that are the keys are held once, and a window's length is no state.
                if id(tensor) in seen or tensor.dim() == 0:
                    continue
                seen.add(id(tensor))
                total += tensor.numel() * tensor.element_size()
                if say:
                    print("   ", index, type(layer).__name__, name, tuple(tensor.shape), tensor.dtype, file=sys.stderr)
                slides = isinstance(layer, DynamicSlidingWindowLayer) and name in ("keys", "values")
                if slides and layer.cumulative_length >= layer.sliding_window:
                    total += tensor[:, :, :1].numel() * tensor.element_size()
    return total


def made(config):
    """A model in bf16; the text model itself where the library has no class for it alone."""
    torch.set_default_dtype(torch.bfloat16)
    try:
        known = type(config) in AutoModelForCausalLM._model_mapping
        model = (AutoModelForCausalLM if known else AutoModel).from_config(config, dtype=torch.bfloat16).to(torch.bfloat16)
        # Loading a checkpoint leaves these in fp32.
        wide = model._keep_in_fp32_modules_strict or ()
        for name, parameter in [*model.named_parameters(), *model.named_buffers()]:
            if any(part in name for part in wide):
                parameter.data = parameter.data.float()
        return model
    finally:
        torch.set_default_dtype(torch.float32)


def main(only):
    for kind, keys, lengths in CASES:
        if only and kind not in only:
            continue
        try:
            config = CONFIG_MAPPING[kind](**keys)
            torch.manual_seed(0)
            model = made(config).eval()
            found = []
            for tokens in lengths:
                ids = torch.randint(3, 100, (SEQUENCES, tokens))
                with torch.no_grad():
                    output = model(ids, use_cache=True)
                # XLNet keeps hidden states, in no class of its own.
                cache = output.past_key_values if "past_key_values" in output else SimpleNamespace(layers=[SimpleNamespace(mems=output.mems)])
                found.append([tokens, held(cache, bool(only))])
        except Exception as error:
            if only:
                raise
            print(kind, repr(error)[:300], file=sys.stderr)
            continue
        file = dict(model_type=kind, architectures=[type(model).__name__], **keys)
        print(json.dumps(dict(sequences=SEQUENCES, held=found, config=file)))


if __name__ == "__main__":
    main(sys.argv[1:])
