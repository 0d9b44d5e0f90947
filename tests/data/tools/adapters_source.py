"""Rows of tests/data/tuning/adapters_source.jsonl: adapters of peft on encoder–decoders, followed by PyTorch's tracker on fake tensors.

Usage: adapters_source.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is {"config": {"model_type": ..., "architectures": [CLASS], ...}, "run": {...}} as in measured.py, with `lora_targets` and `source_length`
in `run`. Needs torch, transformers, peft and numpy.
"""
import hashlib, json, os, sys, traceback

os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"
sys.path.insert(0, sys.argv[1])
import measure, peft, torch, transformers
from peft.tuners import tuners_utils
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

DEFAULT = dict(method="lora", seq_length=128, micro_batch_size=1, precision="bf16", adapter_precision="bf16", base="weights", attention="flash",
               kernels="eager", recompute="none", optimizer="adamw", optimizer_implementation="fused", gradient_accumulation_steps=1, lora_rank=8,
               lora_targets=["q_proj", "v_proj"], lora_dropout=0.0, frozen_layers=0, frozen_embeddings=False)
tuners_utils.BaseTunerLayer._move_adapter_to_device_of_base_layer = lambda self, *args, **keys: None


class NoHandle:
    def remove(self):
        pass


def for_learners(register):
    """MemTracker hooks every parameter's gradient; one that never learns has none to hook."""
    return lambda self, hook: register(self, hook) if self.requires_grad else NoHandle()


for name in ("register_hook", "register_post_accumulate_grad_hook"):
    setattr(torch.Tensor, name, for_learners(getattr(torch.Tensor, name)))


def adapted(config, run, source):
    dtype = torch.bfloat16
    with torch.device(measure.DEV):
        model = getattr(transformers, config.architectures[0])._from_config(config, dtype=dtype)
        of_sound = model.main_input_name == "input_features"
        model.register_buffer("source", torch.zeros(*source, dtype=dtype if of_sound else torch.int64, device=measure.DEV))
        forward = model.forward
        model.forward = lambda input_ids, labels: forward(**{model.main_input_name: model.source}, labels=labels)
        torch.set_default_dtype(dtype)
        to, torch.nn.Module.to = torch.nn.Module.to, lambda self, *args, **keys: self
        found = peft.get_peft_model(model, peft.LoraConfig(r=run["lora_rank"], lora_alpha=16, lora_dropout=0.0, target_modules=run["lora_targets"]),
                                    autocast_adapter_dtype=False)
        torch.nn.Module.to = to
        torch.set_default_dtype(torch.float32)
    found.train()
    if run["recompute"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.enable_input_require_grads()
    return found


def held(tracker, when):
    snapshot = tracker.get_tracker_snapshot(when)[torch.device(measure.DEV)]
    return {str(getattr(kind, "name", kind)).lower(): size for kind, size in snapshot.items()}


def measured(config, run, source):
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = adapted(config, run, source)
        learning = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(learning, lr=1e-4, fused=True)
        ids = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64, device=measure.DEV)
        tracker = MemTracker()
        tracker.track_external(model, optimizer, ids)
        with tracker:
            for _ in range(2):
                tracker.reset_mod_stats()
                loss = model(input_ids=ids, labels=ids).loss
                after = held(tracker, "current")
                loss.backward()
                del loss
                optimizer.step()
                optimizer.zero_grad()
                peak = held(tracker, "peak")
    count = lambda parameters: sum(parameter.numel() for parameter in parameters)
    return dict(parameters=count(model.parameters()), trainable_parameters=count(learning), after_forward_bytes=after, peak_bytes=peak)


for line in sys.stdin:
    case = json.loads(line)
    shape, run = dict(case["config"]), {**DEFAULT, **case["run"]}
    source = (run["micro_batch_size"], run["source_length"])
    if "num_mel_bins" in shape:
        source = (source[0], shape["num_mel_bins"], 2 * source[1])
    keys = {key: value for key, value in shape.items() if key != "model_type"}
    config = transformers.AutoConfig.for_model(shape["model_type"], **keys)
    config._attn_implementation = {"flash": "truth_fa", "eager": "eager"}[run["attention"]]
    config.use_cache = False
    try:
        found = measured(config, run, source)
    except Exception:
        print(shape["model_type"], run, traceback.format_exc(), file=sys.stderr, flush=True)
        continue
    print(json.dumps(dict(id=hashlib.sha256(line.encode()).hexdigest()[:10], kind="lora", model=shape["model_type"], config=shape, run=run,
                          parallel={}, measured=found)), flush=True)
