"""Random cases for tests/data/tools/measured.py: small shapes of every kind of a task, as kinds.py draws them, with a random run.

    python tests/data/tools/tracker_rows.py SEED COUNT TASK > cases.jsonl        TASK: causal, masked, seq2seq

A kind comes at most once. Models drop nothing out; kinds that the library does not build so are left out.
"""
import json
import random
import sys

import kinds
import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto import modeling_auto


def without_dropout(keys, default):
    """The keys, and 0 for every probability of dropping out that the class has."""
    drops = lambda key: any(word in key for word in ("dropout", "pdrop", "layerdrop"))
    return {**keys, **{key: 0.0 for key, value in default.items() if drops(key) and isinstance(value, float) and value > 0}}


def run(R, task):
    keys = dict(seq_length=R.choice([96, 128, 200, 256, 512]), micro_batch_size=R.choice([1, 2, 3]), precision=R.choice(["bf16", "bf16", "fp32", "amp_bf16"]),
                attention=R.choice(["flash", "flash", "eager"]), recompute=R.choice(["none", "none", "full"]),
                optimizer_implementation=R.choice(["fused", "foreach", "for_loop"]))
    if R.random() < 0.25:
        keys["gradient_accumulation_steps"] = R.choice([2, 3])
    if task == "seq2seq":
        keys["source_length"] = R.choice([64, 128, 192])
    return keys


def main(seed, count, task):
    R = random.Random(int(seed))
    names = list(getattr(modeling_auto, kinds.TASKS[task]).items())
    made = 0
    for kind, classes in R.sample(names, len(names)):
        name = classes if isinstance(classes, str) else classes[0]
        if made == int(count):
            break
        for _ in range(6):
            try:
                keys = without_dropout(kinds.drawn(kind, R), CONFIG_MAPPING[kind]().to_dict())
                with torch.device("meta"):
                    model = getattr(transformers, name)(CONFIG_MAPPING[kind](**keys))
                if sum(parameter.numel() for parameter in model.parameters()) > 3e8:
                    raise ValueError("too large")
            except Exception:
                continue
            config = dict(model_type=kind, **({} if task == "causal" else dict(architectures=[name])), **keys)
            print(json.dumps(dict(config=config, run=run(R, task))))
            made += 1
            break


if __name__ == "__main__":
    main(*sys.argv[1:4])
