"""Rows for tests/data/measured/: asks PyTorch itself (FakeTensorMode, MemTracker) through the truth tools' `measure.run`.

Usage: measured.py DIRECTORY_OF_MEASURE_PY [collect] [without-rings] < cases.jsonl > rows.jsonl
With `collect` Python looks for garbage behind every attention and block: a graph that no backward goes through (MiniMax-M3's indexer) is
held by the tracker's hooks in a circle, and counted until somebody looks. With `without-rings` the hooks hold no graph (DeepSeek-V4's
indexer, whose circle nobody breaks).
A case is {"config": {"model_type": ..., ...}, "run": {...}} with the keys of a row; what `run` leaves out takes the row's default.
`architectures` in the config names the class to build; else it is the kind's class for causal language modelling.
A `run` with `images_per_sequence` feeds a vision-language model's tower that many images of `image_width` × `image_height` pixels;
`freeze_vision_tower` takes its parameters out of training.
Rows come out in the format of training_memory.jsonl. Needs torch, transformers and numpy.
"""
import gc, hashlib, json, os, sys, traceback

# Checks of values, which a fake tensor does not have.
os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"

sys.path.insert(0, sys.argv[1])
import images, measure, torch, transformers
from transformers import initialization
from torch.distributed._tools import mod_tracker

# Nobody looks at values, and drawing these reads some, which a fake tensor does not have.
initialization.trunc_normal_ = lambda tensor, *args, **keys: tensor

DEFAULT = dict(seq_length=512, micro_batch_size=1, precision="bf16", attention="flash", kernels="eager", recompute="none",
               optimizer="adamw", optimizer_implementation="fused", gradient_accumulation_steps=1)


class Named:
    """Builds the class that a file names, in the place of `AutoModelForCausalLM`, and feeds it images where the run has some."""

    def __init__(self, name, run, source):
        self.of, self.run, self.source = getattr(transformers, name), run, source

    def from_config(self, config, dtype):
        model = self.of._from_config(config, dtype=dtype)
        if self.source:
            # The truth tools give one tensor as tokens and labels; an encoder beside a decoder reads tokens of its own.
            of_sound = model.main_input_name == "input_features"
            model.register_buffer("source", torch.zeros(*self.source, dtype=dtype if of_sound else torch.int64, device=measure.DEV))
            forward = model.forward
            model.forward = lambda input_ids, labels: forward(**{model.main_input_name: model.source}, labels=labels)
            return model
        task = self.of.__name__.rpartition("For")[2]
        if task in ("SequenceClassification", "QuestionAnswering"):
            # A label for each text, which is part of what the truth tools give.
            names = ("labels",) if task == "SequenceClassification" else ("start_positions", "end_positions")
            forward = model.forward
            model.forward = lambda input_ids, labels: forward(input_ids=input_ids, **{name: input_ids[:, 0] for name in names})
            return model
        Tracker.beside = images.inputs(config, self.run)
        images.prepare(model, self.run)
        mod_tracker.register_multi_grad_hook = images.without_graph if Tracker.beside else images.WITH_GRAPH
        forward = model.forward
        model.forward = lambda **keys: forward(**Tracker.beside, **images.placed(config, self.run, keys))
        return model


class Tracker(measure.MemTracker):
    """Images are inputs as token ids are."""
    beside = {}

    def track_external(self, *external):
        beside = (value for value in self.beside.values() if isinstance(value, torch.Tensor))
        super().track_external(*external, *beside)


measure.MemTracker = Tracker


class NoHandle:
    def remove(self):
        pass


def for_learners(register):
    """MemTracker hooks every parameter's gradient; one that never learns has none to hook."""
    return lambda self, hook: register(self, hook) if self.requires_grad else NoHandle()


for name in ("register_hook", "register_post_accumulate_grad_hook"):
    setattr(torch.Tensor, name, for_learners(getattr(torch.Tensor, name)))
if "without-rings" in sys.argv:
    mod_tracker.register_multi_grad_hook = images.without_graph
if "collect" in sys.argv:
    ends = ("Attention", "DecoderLayer", "Indexer")
    behind = lambda module, given, made: gc.collect() and None if type(module).__name__.endswith(ends) else None
    torch.nn.modules.module.register_module_forward_hook(behind)
CAUSAL = measure.AutoModelForCausalLM
IMPLEMENTATIONS = dict(for_loop="loop", foreach="foreach", fused="fused")
PRECISIONS = dict(bf16="bf16", fp32="fp32", amp_bf16="amp")

for line in sys.stdin:
    case = json.loads(line)
    shape, run = dict(case["config"]), {**DEFAULT, **case["run"]}
    named = shape.get("architectures")
    source = (run["micro_batch_size"], run["source_length"]) if "source_length" in run else None
    if source and "num_mel_bins" in shape:
        source = (source[0], shape["num_mel_bins"], 2 * source[1])
    measure.AutoModelForCausalLM = Named(named[0], run, source) if named else CAUSAL
    keys = {key: value for key, value in shape.items() if key not in ("model_type", "architectures")}
    config = transformers.AutoConfig.for_model(shape["model_type"], **keys)
    # The truth tools switch the cache off in the file as a whole; the text part of a model with towers asks its own.
    config.get_text_config().use_cache = False
    try:
        got = measure.run(config, seq=run["seq_length"], mbs=run["micro_batch_size"], dtype=PRECISIONS[run["precision"]],
                          attn=run["attention"], ckpt=run["recompute"] == "full", optim=run["optimizer"],
                          impl=IMPLEMENTATIONS[run["optimizer_implementation"]], accum=run["gradient_accumulation_steps"],
                          kernels=run["kernels"])
    except Exception:
        print(shape["model_type"], run, traceback.format_exc(), file=sys.stderr, flush=True)
        continue
    names = lambda held: {kind.lower(): size for kind, size in held.items()}
    last = got["steps"][-1]
    peak = max((step["peak"] for step in got["steps"]), key=lambda held: names(held)["total"])
    row = dict(id=hashlib.sha256(line.encode()).hexdigest()[:10], kind="single", model=shape["model_type"], config=shape, run=run,
               parallel={}, measured=dict(parameters=got["params"], after_forward_bytes=names(last["after_forward"]),
                                          peak_bytes=names(peak)))
    print(json.dumps(row), flush=True)
