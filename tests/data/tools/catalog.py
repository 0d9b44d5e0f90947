"""Parameters of every row of the catalog that has a config.json, as the library's own class has them on the meta device (needs torch
and transformers; nothing is downloaded). Run it in the repository's root; it writes the rows of truth/catalog.jsonl."""
import json, pathlib, sys, warnings; warnings.filterwarnings("ignore")
import torch, transformers
transformers.logging.set_verbosity_error()
from transformers import CONFIG_MAPPING, AutoModelForCausalLM, AutoModelForImageTextToText, AutoModelForMaskedLM, AutoModelForSeq2SeqLM, AutoModelForSpeechSeq2Seq
from transformers.models.auto.modeling_auto import MODEL_FOR_MASKED_LM_MAPPING_NAMES

# Files that name a kind by which transformers does not know it, and keys that it has under another name.
KINDS = {"kimi_k2": "deepseek_v3", "RefinedWeb": "falcon", "minimax_m1": "minimax", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text"}
# Keys that only name code or storage.
UNUSED = ("auto_map", "quantization_config", "transformers_version", "architectures", "rope_scaling", "rope_parameters", "torch_dtype", "dtype")


# Groups that a whole file of a kind must state.
ROTATION = ("rope_scaling", "rope_parameters")
# Kinds that are counted as masked language models, as they are published.
ENCODERS = [kind for kind in ("bert", "roberta", "deberta-v2", "modernbert", "nomic_bert") if kind in MODEL_FOR_MASKED_LM_MAPPING_NAMES]


# Kinds of whole files whose vision tower is counted.
WITH_TOWER = ("qwen3_5", "qwen3_5_moe")


def whole(file):
    """The file with its vision part as transformers' configuration class takes it."""
    return CONFIG_MAPPING[file["model_type"]](text_config=adapted(file).to_dict(), vision_config=file["vision_config"], tie_word_embeddings=file.get("tie_word_embeddings", file["text_config"].get("tie_word_embeddings", False)))


def built(file):
    if file.get("model_type") in WITH_TOWER and "vision_config" in file:
        return AutoModelForImageTextToText.from_config(whole(file))
    if "vision_config" in file:
        return AutoModelForImageTextToText.from_config(CONFIG_MAPPING[file["model_type"]](**{key: value for key, value in file.items() if key not in UNUSED or key in ROTATION}))
    if file.get("is_encoder_decoder"):
        of_sound = "num_mel_bins" in file
        return (AutoModelForSpeechSeq2Seq if of_sound else AutoModelForSeq2SeqLM).from_config(adapted(file))
    if file.get("model_type") in ENCODERS:
        return AutoModelForMaskedLM.from_config(adapted(file))
    return AutoModelForCausalLM.from_config(adapted(file))


def adapted(file):
    """The file as transformers' configuration class takes it."""
    keys = dict(next((file[part] for part in ("text_config",) if part in file), file))
    kind = keys.pop("model_type", file.get("model_type"))
    for key in UNUSED:
        keys.pop(key, None)
    if kind == "minimax_m1":
        keys["layer_types"] = ["full_attention" if full else "linear_attention" for full in keys.pop("attn_type_list")]
    if kind == "kimi_linear":
        own = keys.pop("linear_attn_config")
        keys["layer_types"] = ["full_attention" if layer + 1 in own["full_attn_layers"] else "linear_attention" for layer in range(keys["num_hidden_layers"])]
        keys.update(linear_num_heads=own["num_heads"], linear_head_dim=own["head_dim"], linear_conv_kernel_dim=own["short_conv_kernel_size"])
        keys.update(max_position_embeddings=keys.pop("model_max_length"), n_shared_experts=keys.pop("num_shared_experts"))
    if kind == "nemotron_h" and "hybrid_override_pattern" in keys:
        letters = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
        keys["layers_block_type"] = [letters[letter] for letter in keys.pop("hybrid_override_pattern")]
        keys.pop("num_hidden_layers", None)
    return CONFIG_MAPPING[KINDS.get(kind, kind)](**keys)


for path in sorted(pathlib.Path("src/catalog/configs").glob("*.json")):
    if len(sys.argv) > 1 and path.stem not in sys.argv[1:]:
        continue
    try:
        with torch.device("meta"):
            model = built(json.loads(path.read_text()))
        row = {"id": path.stem, "class": type(model).__name__, "parameters": sum(p.numel() for p in model.parameters())}
        print(json.dumps(row), flush=True)
    except Exception as error:
        print(path.stem, repr(error)[:300], file=sys.stderr)
