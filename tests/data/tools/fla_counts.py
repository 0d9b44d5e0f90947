"""Exact parameter counts of kinds that flash-linear-attention builds and transformers lacks, on the meta device (fla-core 0.6).

    python tests/data/tools/fla_counts.py > tests/data/truth/parameters_fla.jsonl
    python tests/data/tools/fla_counts.py FILE …        # of these files: name and count, for corpus.py

The default file of each kind, small files that turn each switch, and the count of each.
"""

import importlib
import importlib.machinery
import json
import pathlib
import sys
import types
import warnings

warnings.filterwarnings("ignore")
# Its attention asks for flash-attn when it is built, and calls it only when it runs.
stub = types.ModuleType("flash_attn")
stub.flash_attn_func = stub.flash_attn_varlen_func = lambda *_: None
stub.__spec__ = importlib.machinery.ModuleSpec("flash_attn", None)
sys.modules["flash_attn"] = stub

import torch  # noqa: E402

SMALL = {"hidden_size": 512, "num_hidden_layers": 3, "vocab_size": 1000}
ATTENDS = {"layers": [1], "num_heads": 8, "num_kv_heads": 2, "qkv_bias": True, "window_size": 64, "rope_theta": 10000.0}
SHAPES = {
    "transformer": [
        {"num_heads": 8, "num_kv_heads": 2, "qkv_bias": True, "qk_norm": True},
        {"num_heads": 8, "intermediate_size": 1111, "tie_word_embeddings": True},
        {"num_heads": 8, "hidden_ratio": 3, "window_size": 128},
    ],
    "gla": [
        {"num_heads": 4, "expand_k": 1, "expand_v": 2, "use_output_gate": False, "use_short_conv": True, "conv_size": 3},
        {"num_heads": 4, "num_kv_heads": 2, "attn": ATTENDS, "elementwise_affine": False},
        {"num_heads": 4, "hidden_ratio": 3, "tie_word_embeddings": True, "use_short_conv": True, "num_kv_heads": 2},
    ],
    "delta_net": [
        {"num_heads": 4, "expand_k": 0.75, "expand_v": 1.5, "use_gate": True, "use_beta": False},
        {"num_heads": 4, "use_short_conv": False, "attn": ATTENDS},
    ],
    "gated_deltanet": [
        {"num_heads": 3, "head_dim": 96, "expand_v": 1.5, "use_gate": False},
        {"num_heads": 2, "num_v_heads": 4, "head_dim": 64, "use_short_conv": False, "attn": ATTENDS, "intermediate_size": 700},
    ],
    "gsa": [
        {"num_heads": 4, "num_kv_heads": 2, "num_slots": None, "use_short_conv": True},
        {"num_heads": 4, "feature_map": "relu", "attn": ATTENDS, "elementwise_affine": False, "expand_k": 2},
    ],
    "hgrn2": [
        {"expand_ratio": 64, "use_short_conv": True},
        {"num_heads": 4, "expand_ratio": None, "attn": ATTENDS, "elementwise_affine": False, "use_lower_bound": False},
    ],
    "samba": [
        {"attn": {**ATTENDS, "qkv_bias": False}, "use_bias": True, "state_size": 8, "expand": 3, "time_step_rank": 10},
        {"attn": None, "conv_kernel": 3, "use_conv_bias": False, "hidden_ratio": 3},
    ],

    "retnet": [{"num_heads": 4, "expand_k": 0.5, "expand_v": 1}, {"num_heads": 4, "num_kv_heads": 2, "use_output_gate": False, "attn": ATTENDS}],
    "rwkv7": [{"head_dim": 64, "hidden_act": "sqrelu"}, {"num_heads": 8, "head_dim": None, "decay_low_rank_dim": 32, "intermediate_size": 900}],
}

def count(keys):
    module = importlib.import_module(f"fla.models.{keys['model_type']}")
    named = lambda end: next(getattr(module, name) for name in dir(module) if name.endswith(end) and not name.startswith("Auto"))
    config = named("Config").from_dict(dict(keys))
    with torch.device("meta"):
        model = named("ForCausalLM")(config)
    return sum(parameter.numel() for parameter in model.parameters())

def main():
    for path in sys.argv[1:]:
        keys = json.loads(pathlib.Path(path).read_text())
        print(json.dumps({"file": pathlib.Path(path).name, "model_type": keys["model_type"], "text": count(keys), "text_class": "fla-core 0.6"}))
    if sys.argv[1:]:
        return
    for kind, shapes in SHAPES.items():
        for keys in [{"num_hidden_layers": 2}, *({**SMALL, **shape} for shape in shapes)]:
            keys = {"model_type": kind, **keys}
            try:
                print(json.dumps({"model": kind, "parameters": count(keys), "config": keys}))
            except Exception as problem:
                print(f"{keys}: {type(problem).__name__}: {problem}", file=sys.stderr)

main()
