"""What transformers' own caches keep for small models, most of whose layers are not all alike (needs torch and transformers; nothing
is downloaded). One row a model: elements of keys and values per token, of states and of convolved channels per sequence."""
import json, warnings; warnings.filterwarnings("ignore")
import torch, transformers
transformers.logging.set_verbosity_error()
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

S = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=4, num_attention_heads=4, num_key_value_heads=2, vocab_size=128)
E = dict(num_experts=4, moe_intermediate_size=32)
CASES = [
    ("qwen3_next", dict(S, **E, head_dim=16, num_experts_per_tok=2, shared_expert_intermediate_size=32, linear_num_value_heads=6, linear_num_key_heads=3, linear_value_head_dim=8, linear_key_head_dim=12)),
    ("kimi_linear", dict(S, **E, num_experts_per_token=2, linear_num_heads=4, linear_head_dim=16, kv_lora_rank=32, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=16, pad_token_id=0, layer_types=["linear_attention", "linear_attention", "full_attention", "linear_attention"])),
    ("minimax", dict(S, num_local_experts=2, layer_types=["linear_attention", "full_attention", "linear_attention", "linear_attention"])),
    ("mamba2", dict(hidden_size=64, num_hidden_layers=3, num_heads=8, head_dim=16, n_groups=2, state_size=32, vocab_size=128)),
    ("mamba", dict(hidden_size=64, num_hidden_layers=3, state_size=16, vocab_size=128)),
    ("jamba", dict(S, num_experts=1, attn_layer_period=4, attn_layer_offset=1, use_mamba_kernels=False)),
    ("falcon_h1", dict(S, mamba_d_ssm=128, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=32, mamba_n_groups=2)),
    ("bamba", dict(S, mamba_n_heads=8, mamba_d_head=16, mamba_d_state=32, attn_layer_indices=[1])),
    ("nemotron_h", dict(hidden_size=64, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=128, mamba_num_heads=8, mamba_head_dim=16, n_groups=2, ssm_state_size=32, layers_block_type=["mamba", "mlp", "full_attention", "mamba"])),
    ("lfm2", dict(S, layer_types=["conv", "full_attention", "conv", "conv"])),
    ("lfm3", dict(S, head_dim=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, layer_types=["conv", "full_attention", "conv", "sliding_attention"])),
    ("hunyuan_v1_moe", dict(S, head_dim=24, num_experts=4, moe_topk=2)),
    ("ernie4_5_moe", dict(S, moe_num_experts=4, moe_intermediate_size=32, moe_k=2)),
    ("mimo_v2_flash", dict(S, head_dim=16, v_head_dim=8, n_routed_experts=4, num_experts_per_tok=2, moe_intermediate_size=32, layer_types=["full_attention", "sliding_attention", "sliding_attention", "full_attention"])),
    ("gemma3n_text", dict({**S, "num_hidden_layers": 6}, head_dim=16, vocab_size_per_layer_input=128, hidden_size_per_layer_input=8, laurel_rank=4, num_kv_shared_layers=2, layer_types=["sliding_attention", "sliding_attention", "full_attention"] * 2)),
]
SEQUENCES, TOKENS = 2, 7


def tensors(value):
    if torch.is_tensor(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from tensors(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from tensors(inner)


for kind, keys in CASES:
    model = AutoModelForCausalLM.from_config(CONFIG_MAPPING[kind](**keys)).eval()
    with torch.no_grad():
        output = model(torch.arange(SEQUENCES * TOKENS).view(SEQUENCES, TOKENS), use_cache=True)
    cache = getattr(output, "past_key_values", None) or output.cache_params
    found = dict(kv=0, state=0, convolved=0)
    for tensor in tensors(list(getattr(cache, "linear_cache", []))):
        found["state"] += tensor.numel() // SEQUENCES
    for layer in cache.layers:
        for name, value in vars(layer).items():
            for tensor in tensors(value):
                if name in ("keys", "values"):
                    found["kv"] += tensor.numel() // (SEQUENCES * TOKENS)
                elif "conv" in name:
                    found["convolved"] += tensor.shape[1]
                elif "recurrent" in name or "ssm" in name:
                    found["state"] += tensor.numel() // SEQUENCES
    print(json.dumps(dict(model=kind, **found, config=dict(model_type=kind, **keys))))
