"""Which tensors are alive at the peak of a row's forward and backward, and which operator made each.

    python tests/data/tools/peak.py DIRECTORY_OF_MEASURE_PY ROWS.jsonl NUMBER

For rows of `tools/measured.py`. It follows storages alone, without hooks on modules, so that nothing is held that a training would not hold.
"""
import contextlib
import json
import os
import sys
import weakref

os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"
sys.path.insert(0, sys.argv[1])
import images
import measure  # noqa: F401  (registers the kernel of the flash profile)
import torch
import transformers
from transformers import initialization
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Followed(TorchDispatchMode):
    """Storages by when they are made and freed; those of the highest moment are kept."""

    def __init__(self):
        super().__init__()
        self.alive, self.bytes, self.peak, self.at_peak, self.calls = {}, 0, 0, [], 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        made = operator(*args, **(kwargs or {}))
        self.calls += 1
        for tensor in tree_leaves(made):
            if isinstance(tensor, torch.Tensor):
                self.take(tensor, str(operator))
        if self.bytes > self.peak:
            self.peak, self.at_peak = self.bytes, sorted(self.alive.values())
        return made

    def take(self, tensor, operator):
        storage = tensor.untyped_storage()
        if storage._cdata not in self.alive:
            self.alive[storage._cdata] = (self.calls, storage.nbytes(), operator, tuple(tensor.shape), str(tensor.dtype))
            self.bytes += storage.nbytes()
            weakref.finalize(storage, self.free, storage._cdata)

    def free(self, key):
        self.bytes -= self.alive.pop(key)[1]


# Nobody looks at values.
initialization.trunc_normal_ = lambda tensor, *args, **keys: tensor
row = json.loads(open(sys.argv[2]).readlines()[int(sys.argv[3])])
shape, run = row["config"], row["run"]
keys = {key: value for key, value in shape.items() if key not in ("model_type", "architectures")}
config = transformers.AutoConfig.for_model(shape["model_type"], **keys)
config._attn_implementation = {"flash": "truth_fa", "eager": "eager"}[run["attention"]]
config.use_cache = config.get_text_config().use_cache = False
dtype = torch.bfloat16 if run["precision"] == "bf16" else torch.float32
with FakeTensorMode(allow_non_fake_inputs=True):
    if "architectures" in shape:
        model = getattr(transformers, shape["architectures"][0])._from_config(config, dtype=dtype)
    else:
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.train()
    if run["recompute"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    images.prepare(model, run)
    beside = images.inputs(config, run)
    ids = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64)
    source = torch.zeros(run["micro_batch_size"], run["source_length"], dtype=torch.int64) if "source_length" in run else ids
    if "num_mel_bins" in shape:
        source = torch.zeros(run["micro_batch_size"], shape["num_mel_bins"], 2 * run["source_length"], dtype=dtype)
    autocast = torch.autocast("cpu", torch.bfloat16) if run["precision"] == "amp_bf16" else contextlib.nullcontext()
    with Followed() as followed:
        with autocast:
            given = images.placed(config, run, {model.main_input_name: source})
            loss = model(**given, labels=ids, **beside).loss
        loss.backward()
print("bytes at the peak, without the model and its inputs:", followed.peak)
for call, size, operator, form, dtype in followed.at_peak:
    print(f"{size:>12} {operator} {list(form)} {dtype} (call {call})")
