"""Exact parameter counts of the files under configs/corpus: what transformers 5.23 builds of each, on the meta device.

    python tests/data/tools/corpus.py > tests/data/truth/parameters_corpus.jsonl

One line for each file whose kind transformers knows: `text` counts the class for causal language modelling of its part for text,
`whole` the class of the whole model (its towers included), `left_out` each part of the whole model that is not in the text part.
Encoders of sound and of images are counted by the class that the file names; kinds that flash-linear-attention builds, by its classes, where
it is installed (`fla_counts.py`). A file that neither can read gets a line with `problem` alone.
"""

import importlib.util
import json
import pathlib
import subprocess
import sys

import torch
import transformers
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForMultimodalLM,
)
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

FOLDER = pathlib.Path(__file__).parent.parent / "configs" / "corpus"


def keys(path):
    """The file's keys; `Infinity` and `NaN` are what Python's reader takes anyway."""
    found = json.loads(path.read_text())
    # Neither changes a shape; quantised weights would only replace the modules.
    for key in ("quantization_config", "auto_map", "_attn_implementation", "attn_implementation", "use_flash_attn"):
        found.pop(key, None)
    return found


# Kinds that predict text, hidden or further.
OF_TEXT = {**modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES, **modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}
# How classes end that predict no text, and are counted as they are.
OTHER_TASKS = ("Model", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")

# Older names of kinds that transformers has under another one.
ALIASES = {"RefinedWeb": "falcon", "RefinedWebModel": "falcon", "kimi_k2": "deepseek_v3"}


def config_of(found):
    kind = found.get("model_type")
    kind = ALIASES.get(kind, kind)
    if kind is None:
        kind = by_class(found)
    # A file of the text part alone that goes by the name of the whole model.
    if kind == "step3p7" and "text_config" not in found:
        found = {"text_config": {**found, "model_type": "step3p5"}}
    if kind not in CONFIG_MAPPING:
        raise ValueError(f"transformers knows no {kind}")
    return CONFIG_MAPPING[kind].from_dict({**found, "model_type": kind})


def by_class(found):
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES as names

    classes = found.get("architectures") or []
    for kind, name in names.items():
        if name in classes:
            return kind
    raise ValueError(f"neither model_type nor a known class: {classes}")


def built(auto, config):
    with torch.device("meta"):
        return auto.from_config(config)


def count(module):
    return sum(parameter.numel() for parameter in module.parameters())


# Names of the part for text, and of what it is made of.
TEXT = ("decoder", "language_model", "text_model", "model", "embed_tokens", "layers", "norm", "lm_head")


def children(module):
    """Parameters of each part below the model, by name; the part for text and the head are the text part."""
    base = getattr(module, "model", module)
    if hasattr(base, "layers"):
        # The model is the part for text itself, and towers stand beside it; or it has another name.
        base = module
    if base is module and hasattr(module, module.base_model_prefix or "-"):
        base = module.base_model
    parts = {}
    for name, child in base.named_children():
        # Encoders with a decoder have no part for text apart.
        if name not in (*TEXT, "encoder", "embeddings"):
            parts[name] = count(child)
    return {name: size for name, size in parts.items() if size}


# Kinds that read no text, or compare texts with images.
ENCODERS = ("wav2vec2", "hubert", "wavlm", "vit", "deit", "siglip", "clip")


def of_encoder(named, config):
    """Counts of the class that the file names: of one with two towers, that for text is the text part."""
    with torch.device("meta"):
        model = getattr(transformers, named)(config)
    whole = count(model)
    text = count(model.text_model) if hasattr(model, "text_model") else whole
    left_out = {"vision_model": count(model.vision_model), "others": whole - text - count(model.vision_model)} if text < whole else {}
    return {"text": text, "text_class": named, "whole": whole, "whole_class": named, "left_out": left_out}


def line(path):
    row = {"file": path.name}
    try:
        found = keys(path)
        config = config_of(found)
        row["model_type"] = config.model_type
        named = (found.get("architectures") or [""])[0]
        if config.model_type in ENCODERS and hasattr(transformers, named):
            return dict(row, **of_encoder(named, config))
        # Of a model that hears, sees and speaks, the part that thinks is a model of its own.
        config = getattr(config, "thinker_config", config)
        named = (found.get("architectures") or [""])[0]
        if named.endswith(OTHER_TASKS) and hasattr(transformers, named) and config.model_type in OF_TEXT and not getattr(config, "is_encoder_decoder", False):
            with torch.device("meta"):
                text = count(getattr(transformers, named)(config))
            return dict(row, text=text, text_class=named)
        sees = hasattr(config, "vision_config")
        if getattr(config, "is_encoder_decoder", False) and hasattr(transformers, (found.get("architectures") or [""])[0]) and not sees:
            # A class without a head is counted with the one for text.
            name = found["architectures"][0].replace("BartModel", "BartForConditionalGeneration")
            with torch.device("meta"):
                whole = count(getattr(transformers, name)(config))
            return dict(row, text=whole, text_class=name, whole=whole, whole_class=name, left_out={})
        text_config = config.get_text_config(decoder=True)
        text = None
        try:
            text = built(AutoModelForCausalLM, text_config)
            row["text"], row["text_class"] = count(text), type(text).__name__
            if text_config is config and hasattr(text.base_model, "image_encoder"):
                # The class for texts sees images.
                row["whole"], row["whole_class"], row["left_out"] = row["text"], row["text_class"], children(text)
                row["text"] -= sum(row["left_out"].values())
        except Exception as problem:
            row["text_problem"] = f"{type(problem).__name__}: {str(problem)[:160]}"
        if text_config is not config:
            for auto in (AutoModelForImageTextToText, AutoModelForMultimodalLM, AutoModelForCausalLM):
                try:
                    whole = built(auto, config)
                except Exception as problem:
                    row["whole_problem"] = f"{type(problem).__name__}: {str(problem)[:160]}"
                    continue
                row["whole"], row["whole_class"] = count(whole), type(whole).__name__
                row["left_out"] = children(whole)
                if sees and getattr(config, "is_encoder_decoder", False):
                    # The part for text has an encoder, which its class for causal language modelling leaves out.
                    row["text"], row["text_class"] = row["whole"] - sum(row["left_out"].values()), row["whole_class"]
                if text is None and (hasattr(getattr(whole, "model", None), "language_model") or hasattr(whole, "visual")):
                    # These parts for text have no class of their own for causal language modelling.
                    row["text"] = row["whole"] - sum(row["left_out"].values())
                    row["text_class"] = row["whole_class"]
                    row.pop("text_problem", None)
                row.pop("whole_problem", None)
                break
    except Exception as problem:
        row["problem"] = f"{type(problem).__name__}: {str(problem)[:160]}"
        if "transformers knows no" in str(problem) and importlib.util.find_spec("fla"):
            # In a process of its own: its classes take the places of some of transformers'.
            tool = [sys.executable, pathlib.Path(__file__).parent / "fla_counts.py", path]
            counted = subprocess.run(tool, capture_output=True, text=True).stdout
            return json.loads(counted) if counted.strip() else row
    return row


def main():
    assert transformers.__version__.startswith("5.23"), transformers.__version__
    for path in sorted(FOLDER.glob("*.json")):
        if sys.argv[1:] and path.name not in sys.argv[1:]:
            continue
        print(json.dumps(line(path)), flush=True)


main()
