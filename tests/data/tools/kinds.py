"""Files of every kind of a task in transformers, as `save_pretrained` writes them, and the parameters of the library's class for each.

    python tests/data/tools/kinds.py TASK FOLDER [shapes]      TASK: causal, image, masked, seq2seq, speech
    headroom import FOLDER --counts FOLDER.jsonl

Without `shapes` the library's default file of each kind; with it two random shapes of each, always the same ones. `FOLDER.problems` names
the kinds that the library itself does not build so. Needs torch, transformers and, for a few kinds, pillow and timm; nothing is downloaded.
"""
import json
import os
import random
import signal
import sys
import warnings

warnings.filterwarnings("ignore")
import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto import modeling_auto

transformers.logging.set_verbosity_error()
TASKS = dict(
    causal="MODEL_FOR_CAUSAL_LM_MAPPING_NAMES",
    image="MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES",
    masked="MODEL_FOR_MASKED_LM_MAPPING_NAMES",
    seq2seq="MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    speech="MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
)
# Sizes that are drawn anew, by what they mean.
HIDDEN = ("hidden_size", "d_model", "n_embd", "dim")
HEADS = ("num_attention_heads", "n_head", "attention_heads", "n_heads", "encoder_attention_heads", "decoder_attention_heads", "num_heads")
KEYS = ("num_key_value_heads", "num_kv_heads")
INNER = ("intermediate_size", "ffn_dim", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim", "d_ff", "dff", "moe_intermediate_size", "shared_expert_intermediate_size")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers", "n_layers", "num_decoder_layers")
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
CHOSEN = ("num_experts_per_tok", "moe_topk", "moe_k")
TOKENS = ("pad_token_id", "eos_token_id", "bos_token_id", "cls_token_id", "sep_token_id")
SWITCHES = ("tie_word_embeddings", "attention_bias", "mlp_bias", "use_qk_norm")


def drawn(kind, draw):
    """A few sizes drawn anew; all others are the library's defaults."""
    default = CONFIG_MAPPING[kind]().to_dict()
    whole = lambda key: isinstance(default.get(key), int) and not isinstance(default.get(key), bool)
    heads, head = draw.choice([4, 8, 12]), draw.choice([32, 64, 96])
    sizes = {}
    sizes.update({key: heads for key in HEADS if whole(key)})
    sizes.update({key: heads * head for key in HIDDEN if whole(key)})
    groups = [count for count in (1, 2, 4, heads) if heads % count == 0]
    sizes.update({key: draw.choice(groups) for key in KEYS if whole(key)})
    if whole("head_dim"):
        sizes["head_dim"] = head if draw.random() < 0.6 else draw.choice([32, 64, 128])
    sizes.update({key: draw.choice([256, 384, 512, 768]) for key in INNER if whole(key)})
    sizes.update({key: draw.choice([3, 4, 5, 6, 8]) for key in LAYERS if whole(key)})
    sizes.update({key: 0 for key in TOKENS if whole(key)})
    sizes.update({key: draw.choice([1000, 4096, 32000]) for key in ("vocab_size",) if whole(key)})
    sizes.update({key: draw.choice([8, 16]) for key in EXPERTS if whole(key) and default[key] > 1})
    sizes.update({key: 2 for key in CHOSEN if whole(key) and default[key] > 1})
    sizes.update({key: not default[key] for key in SWITCHES if isinstance(default.get(key), bool) and draw.random() < 0.3})
    sizes.update({key: draw.choice([512, 1024, 4096]) for key in ("max_position_embeddings", "n_positions") if whole(key)})
    return sizes


def late(*_):
    raise TimeoutError("late")


def main(task, folder, shapes):
    os.makedirs(folder, exist_ok=True)
    signal.signal(signal.SIGALRM, late)
    with open(f"{folder}.jsonl", "w") as counts, open(f"{folder}.problems", "w") as problems:
        for kind, classes in getattr(modeling_auto, TASKS[task]).items():
            name = classes if isinstance(classes, str) else classes[0]
            draw, made, problem = random.Random(kind), 0, ""
            for _ in range(12 if shapes else 1):
                if made == (2 if shapes else 1):
                    break
                try:
                    signal.alarm(120)
                    config = CONFIG_MAPPING[kind](**(drawn(kind, draw) if shapes else {}))
                    with torch.device("meta"):
                        model = getattr(transformers, name)(config)
                    config.architectures = [name]
                    file = f"{kind}.{made}.json" if shapes else f"{kind}.json"
                    with open(f"{folder}/{file}", "w") as written:
                        written.write(config.to_json_string(use_diff=False))
                    count = sum(parameter.numel() for parameter in model.parameters())
                    counts.write(json.dumps(dict(file=file, text=count)) + "\n")
                    made += 1
                except Exception as error:
                    problem = repr(error)[:200].replace("\n", " ")
                finally:
                    signal.alarm(0)
            if problem and not made:
                problems.write(f"{kind}\t{problem}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:] == ["shapes"])
