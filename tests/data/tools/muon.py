"""Rows for tests/data/measured/muon.jsonl: asks PyTorch itself (FakeTensorMode, MemTracker), as measure.py of the truth tools does, with
two optimizers: `torch.optim.Muon` for the matrices of the blocks, `torch.optim.AdamW` for embeddings, head, norms, biases and whatever
has other than two dimensions (experts in one tensor, which Muon refuses).

Usage: muon.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is {"config": {"model_type": ..., ...}, "run": {...}} with the keys of a row (a row is a case); what `run` leaves out takes the
default below. `optimizer_implementation` is AdamW's: Muon has a loop only. Needs torch, transformers and numpy.
"""
import contextlib, hashlib, json, sys, traceback

sys.path.insert(0, sys.argv[1])
import measure, torch, transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from transformers import AutoModelForCausalLM

DEFAULT = dict(seq_length=64, micro_batch_size=1, precision="bf16", attention="flash", kernels="eager", recompute="none",
               optimizer="muon", optimizer_implementation="for_loop", gradient_accumulation_steps=1)
ADAMW = dict(for_loop=dict(foreach=False), foreach=dict(foreach=True), fused=dict(fused=True))
ATTENTION = dict(flash="truth_fa", eager="eager")


def optimizers(model, implementation):
    """Muon for the matrices of the blocks, which are numbered, AdamW for the rest."""
    matrices, rest = [], []
    for name, parameter in model.named_parameters():
        in_block = any(part.isdigit() for part in name.split("."))
        (matrices if in_block and parameter.ndim == 2 else rest).append(parameter)
    return torch.optim.Muon(matrices, lr=1e-3), torch.optim.AdamW(rest, lr=1e-4, **ADAMW[implementation])


def snapshot(tracker, when):
    return {str(getattr(kind, "name", kind)).lower(): size
            for kind, size in tracker.get_tracker_snapshot(when)[torch.device("cpu")].items()}


def measured(config, run):
    config._attn_implementation, config.use_cache = ATTENTION[run["attention"]], False
    with FakeTensorMode(allow_non_fake_inputs=True):
        dtype = torch.bfloat16 if run["precision"] == "bf16" else torch.float32
        with torch.device("cpu"):
            model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        model.train()
        if run["kernels"] == "fused":
            measure.fuse(model)
        if run["recompute"] == "full":
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        both = optimizers(model, run["optimizer_implementation"])
        ids = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64)
        tracker, peaks = MemTracker(), []
        tracker.track_external(model, *both, ids)
        cast = torch.autocast("cpu", dtype=torch.bfloat16) if run["precision"] == "amp_bf16" else contextlib.nullcontext()
        with tracker:
            for _ in range(2):
                for _ in range(run["gradient_accumulation_steps"]):
                    tracker.reset_mod_stats()
                    with cast:
                        loss = model(input_ids=ids, labels=ids).loss
                    after_forward = snapshot(tracker, "current")
                    loss.backward()
                    del loss
                for optimizer in both:
                    optimizer.step()
                for optimizer in both:
                    optimizer.zero_grad(set_to_none=True)
                peaks.append(snapshot(tracker, "peak"))
    return dict(parameters=sum(one.numel() for one in model.parameters()), after_forward_bytes=after_forward,
                peak_bytes=max(peaks, key=lambda held: held["total"]))


for line in sys.stdin:
    case = json.loads(line)
    shape, run = dict(case["config"]), {**DEFAULT, **case["run"]}
    try:
        config = transformers.AutoConfig.for_model(shape["model_type"], **{k: v for k, v in shape.items() if k != "model_type"})
        got = measured(config, run)
    except Exception:
        print(shape["model_type"], run, traceback.format_exc(), file=sys.stderr, flush=True)
        continue
    what = json.dumps([shape, run], sort_keys=True)
    print(json.dumps(dict(id=hashlib.sha256(what.encode()).hexdigest()[:10], kind="single", model=shape["model_type"], config=shape,
                          run=run, parallel={}, measured=got)), flush=True)
