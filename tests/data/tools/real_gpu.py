"""Training steps, the driver's memory and out-of-memory messages on a real GPU.

    python tests/data/tools/real_gpu.py CASES.jsonl OUT.jsonl

Needs an NVIDIA GPU, torch, transformers, nvidia-ml-py; peft and liger-kernel for rows that name
them. Nothing is downloaded: weights are random. A case is a line of JSON whose `do` says what:

    row        `config` and `run` as in cuda/cuda.jsonl: PyTorch alone
    trainer    the same under Hugging Face's Trainer, with `flags`
    probe      what the driver counts outside PyTorch's allocator, operation by operation
    snapshot   `torch.cuda.memory._dump_snapshot` after two small steps, beside OUT.jsonl
    oom        one of the messages in `MESSAGES`, as PyTorch words it

Each case runs in a process of its own, one after the other, so that nothing is left of the one
before. `real_rows.py` makes cuda/h100.jsonl of the answers. Rows are measured as those of the
pretended GPU are (cuda/README.md); steps are timed behind that, with random tokens. The rows
there came from a first form of this script, which ran cases in forks and kept traces as well.
"""
import contextlib
import ctypes
import gzip
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

GIB, MIB = 1 << 30, 1 << 20
# What the pretended GPU's driver keeps: `gpu_total_bytes` less this is the allocator's room.
CONTEXT = 512 * MIB
# What a process takes outside the allocator behind its context, before training is done.
DRIFT = 240 * MIB
RUN = {
    "precision": "bf16", "attention": "flash", "kernels": "eager", "recompute": "none",
    "optimizer": "adamw", "optimizer_implementation": "foreach",
    "gradient_accumulation_steps": 1, "alloc_conf": "", "steps": 3, "build": "device",
    "zero_grad": "to_none", "gpu_total_bytes": 0,
}


# ---- what the driver counts -----------------------------------------------------------------

def driver(at):
    """Memory as the driver counts it, and the part that is outside PyTorch's allocator."""
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    return {
        "at": at, "used": total - free, "total": total, "reserved": reserved,
        "allocated": torch.cuda.memory_allocated(), "outside": total - free - reserved,
    }


def device():
    """Names and versions of what was measured on."""
    import pynvml
    pynvml.nvmlInit()
    return {
        "name": torch.cuda.get_device_name(), "driver": str(pynvml.nvmlSystemGetDriverVersion()),
        "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
        "torch": torch.__version__, "transformers": importlib.metadata.version("transformers"),
    }


def take_from_driver(leave):
    """Takes memory beside the allocator until the driver has so many bytes left."""
    free, _ = torch.cuda.mem_get_info()
    pointer, bytes_ = ctypes.c_void_p(), (free - leave) // MIB * MIB
    take = ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2
    if take(ctypes.byref(pointer), ctypes.c_size_t(bytes_)) != 0:
        raise RuntimeError("the driver did not give the memory that was to be taken first")
    return bytes_


def limit_memory(run, total):
    """Leaves the allocator what a card of `gpu_total_bytes` would: by a fraction of the card, or,
    as segments that grow do not heed that, by memory that is taken first."""
    if not run["gpu_total_bytes"]:
        return None
    allowed = run["gpu_total_bytes"] - CONTEXT
    if run["alloc_conf"]:
        taken = take_from_driver(allowed + DRIFT)
        return {"how": "ballast", "free": allowed + DRIFT, "ballast": taken}
    torch.cuda.set_per_process_memory_fraction(allowed / total)
    return {"how": "fraction", "allowed": allowed}


# ---- rows -----------------------------------------------------------------------------------

def watch_attention():
    """The kernels that PyTorch takes for attention, by their nodes in the graph."""
    seen, real = [], F.scaled_dot_product_attention

    def watched(*args, **named):
        made = real(*args, **named)
        name = made.grad_fn.name() if made.grad_fn is not None else "no_grad"
        if name not in seen:
            seen.append(name)
        return made

    F.scaled_dot_product_attention = watched
    return seen


def configuration(case, attention):
    keys = dict(case["config"])
    config = transformers.CONFIG_MAPPING[keys.pop("model_type")](**keys)
    config.use_cache = False
    config._attn_implementation = attention
    return config


def model_of(config, run):
    dtype = torch.bfloat16 if run["precision"] == "bf16" else torch.float32
    make = transformers.AutoModelForCausalLM.from_config
    if run.get("build") == "meta":
        with torch.device("meta"):
            model = make(config, dtype=dtype)
        model.to_empty(device="cuda")
        model.tie_weights()
    else:
        with torch.device("cuda"):
            model = make(config, dtype=dtype)
    model.train()
    if run["recompute"] == "full":
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model


def optimizer_of(model, run):
    named = {"for_loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    return torch.optim.AdamW(
        model.parameters(), lr=1e-4, **named[run["optimizer_implementation"]]
    )


def kernels(run):
    """The attention kernels that a row allows; PyTorch chooses where it names none."""
    flash, efficient, math = (
        SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH
    )
    if run["attention"] == "flash" and run["precision"] != "fp32":
        return sdpa_kernel([flash])
    if run["attention"] in ("flash", "sdpa"):
        return sdpa_kernel([flash, efficient, math])
    if run["attention"] == "cudnn":
        return sdpa_kernel([SDPBackend.CUDNN_ATTENTION])
    return contextlib.nullcontext()


class Training:
    """The model, the optimizer and the tokens of a row."""

    def __init__(self, case, run):
        eager = "eager" if run["attention"] == "eager" else "sdpa"
        self.run, self.config = run, configuration(case, eager)
        self.model = model_of(self.config, run)
        self.built = counted()
        self.optimizer = optimizer_of(self.model, run)
        sizes = run["micro_batch_size"], run["seq_length"]
        self.ids = torch.zeros(*sizes, dtype=torch.int64, device="cuda")

    def forward(self):
        mixed = self.run["precision"] == "amp_bf16"
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=mixed):
            return self.model(input_ids=self.ids, labels=self.ids).loss

    def update(self):
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=self.run["zero_grad"] == "to_none")

    def measured_step(self, at):
        """A step with what the allocator counted; `at` says how far it came."""
        torch.cuda.reset_peak_memory_stats()
        for _ in range(self.run["gradient_accumulation_steps"]):
            at[0] = "forward"
            loss = self.forward()
            statistics_ = torch.cuda.memory_stats()
            found = {
                "after_forward": torch.cuda.memory_allocated(),
                "after_forward_requested": statistics_["requested_bytes.all.current"],
                "peak_forward": torch.cuda.max_memory_allocated(),
            }
            at[0] = "backward"
            loss.backward()
            del loss
        found["after_backward"] = torch.cuda.memory_allocated()
        found["peak_backward"] = torch.cuda.max_memory_allocated()
        at[0] = "optimizer"
        self.update()
        return {**found, **end_of_step()}

    def timed_steps(self):
        """Steps behind each other without waiting in between, with random tokens."""
        self.ids.random_(0, self.config.vocab_size)

        def step():
            for _ in range(self.run["gradient_accumulation_steps"]):
                self.forward().backward()
            self.update()

        torch.cuda.synchronize()
        begin = time.time()
        step()
        torch.cuda.synchronize()
        count = max(3, min(8, int(1.2 / (time.time() - begin))))
        events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
        begin = time.time()
        events[0].record()
        for event in events[1:]:
            step()
            event.record()
        host = time.time() - begin
        torch.cuda.synchronize()
        times = [a.elapsed_time(b) for a, b in zip(events, events[1:])]
        return {
            "median_ms": round(statistics.median(times), 2),
            "host_ms": round(host / count * 1e3, 2),
        }


def counted():
    return {
        "allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved()
    }


def end_of_step():
    found = torch.cuda.memory_stats()
    return {
        "allocated_peak": torch.cuda.max_memory_allocated(),
        "requested_peak": found["requested_bytes.all.peak"],
        "reserved_peak": torch.cuda.max_memory_reserved(),
        "allocated_after": torch.cuda.memory_allocated(),
        "reserved_after": torch.cuda.memory_reserved(),
        "inactive_split_after": found["inactive_split_bytes.all.current"],
        "alloc_retries": found["num_alloc_retries"],
        "ooms": found["num_ooms"],
        "segments": found["segment.all.current"],
        "allocations": found["allocation.all.allocated"],
    }


def peaks(steps):
    names = ("allocated", "requested", "reserved")
    return {f"peak_{name}": max(step[f"{name}_peak"] for step in steps) for name in names}


def measure_row(case):
    run, seen = {**RUN, **case["run"]}, watch_attention()
    if run["alloc_conf"]:
        torch._C._accelerator_setAllocatorSettings(run["alloc_conf"])
    torch.cuda.init()
    context = driver("context")
    limited = limit_memory(run, context["total"])
    measured, steps, at, timed = {}, [], ["build"], {}
    with kernels(run):
        try:
            training = Training(case, run)
            measured["parameters"] = sum(p.numel() for p in training.model.parameters())
            measured["after_build"] = training.built
            for _ in range(run["steps"]):
                steps.append(training.measured_step(at))
            measured.update(peaks(steps))
        except torch.OutOfMemoryError as error:
            measured.update(out_of_memory=f"step {len(steps)} {at[0]}", message=str(error))
        retries = torch.cuda.memory_stats()["num_alloc_retries"]
        measured.update(steps=steps, alloc_retries=retries, sdpa_kernel=list(seen))
        end = driver("after the measured steps")
        if "out_of_memory" not in measured:
            timed = training.timed_steps()
    return answer({**case, "run": run}, measured, (context, end), timed=timed, limit=limited)


def answer(case, measured, drivers, **further):
    context, end = drivers
    outside = {"outside_context": context["outside"], "outside_measured": end["outside"]}
    versions = {}
    for name in ("torch", "transformers", "accelerate", "peft", "liger-kernel"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        **case, "measured": measured, "versions": versions,
        "driver": {"context": context, "measured": end, **outside}, **further,
    }


def measure_trainer(case):
    from torch.utils.data import Dataset
    run, flags, seen, steps = case["run"], case.get("flags", {}), watch_attention(), []
    torch.backends.cuda.enable_cudnn_sdp(False)
    torch.cuda.init()
    context = driver("context")
    config = configuration(case, run.get("attention", "sdpa"))
    # The Trainer asks for recomputation itself.
    model = model_of(config, {**run, "recompute": "none"})
    if "lora" in flags:
        from peft import LoraConfig, get_peft_model
        rank = flags["lora"]["r"]
        adapters = LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(model, adapters)
        if run["recompute"] == "full":
            model.enable_input_require_grads()
    batch, count = run["micro_batch_size"], run.get("steps", 3)

    class Texts(Dataset):
        def __len__(self):
            return batch * count * 2

        def __getitem__(self, _):
            ids = torch.zeros(run["seq_length"], dtype=torch.int64)
            return {"input_ids": ids, "labels": ids}

    class Watch(transformers.TrainerCallback):
        def on_step_begin(self, *args, **named):
            torch.cuda.reset_peak_memory_stats()

        def on_step_end(self, *args, **named):
            steps.append(end_of_step())

    arguments = transformers.TrainingArguments(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=batch, max_steps=count,
        bf16=run["precision"] in ("bf16", "amp_bf16"), logging_steps=1, save_strategy="no",
        report_to=[], optim=flags.get("optim", "adamw_torch_fused"), learning_rate=1e-5,
        gradient_checkpointing=run["recompute"] == "full", disable_tqdm=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        use_liger_kernel=flags.get("liger", False),
    )
    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=Texts(), callbacks=[Watch()],
        data_collator=lambda texts: {k: torch.stack([t[k] for t in texts]) for k in texts[0]},
    )
    parameters = list(trainer.model.parameters())
    measured = {
        "parameters": sum(p.numel() for p in parameters),
        "trainable": sum(p.numel() for p in parameters if p.requires_grad),
        "after_build": counted(),
    }
    with contextlib.redirect_stdout(sys.stderr):
        trainer.train()
    measured.update(steps=steps, sdpa_kernel=seen, **peaks(steps))
    return answer(case, measured, (context, driver("end")))


# ---- outside the allocator ------------------------------------------------------------------

def probe(case):
    """Does one thing after the other and notes what the driver counts behind each."""
    torch.cuda.init()
    bf16, notes = {"dtype": torch.bfloat16, "device": "cuda"}, [driver("context")]

    def note(at, act):
        act()
        notes.append(driver(at))

    note("first kernel", lambda: torch.zeros(4, device="cuda"))
    a = torch.randn(4096, 4096, **bf16)
    note("random numbers", lambda: None)
    note("first product, bf16", lambda: a @ a)
    note("product, fp32", lambda: a.float() @ a.float())
    layer = torch.nn.Linear(4096, 4096, **bf16)
    note("linear layer with bias, forward and backward", lambda: layer(a).sum().backward())
    q = torch.randn(2, 16, 2048, 128, **bf16).requires_grad_()

    def attention(backend):
        with sdpa_kernel(backend):
            F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()

    note("flash attention", lambda: attention(SDPBackend.FLASH_ATTENTION))
    note("memory-efficient attention", lambda: attention(SDPBackend.EFFICIENT_ATTENTION))
    note("cuDNN's attention", lambda: attention(SDPBackend.CUDNN_ATTENTION))
    for how in ({"foreach": True}, {"fused": True}):
        note(f"AdamW, {how}", torch.optim.AdamW(layer.parameters(), **how).step)

    def beside():
        with torch.cuda.stream(torch.cuda.Stream()):
            a @ a

    note("a product on a second stream", beside)
    return {**case, "device": device(), "driver": notes}


# ---- messages and a snapshot ----------------------------------------------------------------

def block(bytes_):
    return torch.empty(bytes_, dtype=torch.uint8, device="cuda")


def filled(leave):
    torch.cuda.init()
    torch.cuda.mem_get_info()
    take_from_driver(leave)


def too_large():
    block(200 * GIB)


def fraction():
    torch.cuda.set_per_process_memory_fraction(0.25)
    kept = [block(4 * GIB) for _ in range(4)]
    block(6 * GIB)
    del kept


def fragmented(settings=""):
    if settings:
        torch._C._accelerator_setAllocatorSettings(settings)
    filled(9 * GIB)
    kept = [block(600 * MIB) for _ in range(12)]
    block(3 * GIB)
    del kept


def cublas():
    x = torch.ones(256, 256, device="cuda")
    filled(8 * MIB)
    x @ x


def cudnn():
    x = torch.ones(1, 4, 64, 64, dtype=torch.bfloat16, device="cuda")
    filled(8 * MIB)
    F.scaled_dot_product_attention(x, x, x)


MESSAGES = {
    "big": too_large, "fraction": fraction, "fragmented": fragmented, "cublas": cublas,
    "cudnn": cudnn, "expandable": lambda: fragmented("expandable_segments:True"),
    "max_split": lambda: fragmented("max_split_size_mb:128"),
}


def message(case):
    try:
        MESSAGES[case["case"]]()
        return {**case, "message": None}
    except Exception as error:
        kind = f"{type(error).__module__}.{type(error).__name__}"
        return {**case, "type": kind, "message": str(error)}


def snapshot(case):
    torch.cuda.memory._record_memory_history(max_entries=100_000, stacks="python")
    run = {**RUN, "optimizer_implementation": "fused", "recompute": "full",
           "micro_batch_size": 2, "seq_length": 2048}
    with kernels(run):
        training = Training(case, run)
        for _ in range(2):
            training.forward().backward()
            training.update()
    with tempfile.NamedTemporaryFile() as file:
        torch.cuda.memory._dump_snapshot(file.name)
        packed = gzip.compress(open(file.name, "rb").read(), 9)
    with open(case["file"], "wb") as out:
        out.write(packed)
    return {**case, "peak_allocated": torch.cuda.max_memory_allocated()}


WORK = {
    "row": measure_row, "trainer": measure_trainer, "probe": probe, "oom": message,
    "snapshot": snapshot,
}


def in_own_process(case):
    command = [sys.executable, os.path.abspath(__file__), "--one"]
    done = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return lines[-1] if lines else json.dumps({**case, "error": done.stderr[-2000:]})


def main():
    with open(sys.argv[1]) as cases, open(sys.argv[2], "w") as out:
        for line in cases:
            print(in_own_process(json.loads(line)), file=out, flush=True)


if sys.argv[1:] == ["--one"]:
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    import torch
    import torch.nn.functional as F
    import transformers
    from torch.nn.attention import SDPBackend, sdpa_kernel

    the_case = json.loads(sys.stdin.read())
    print(json.dumps(WORK[the_case["do"]](the_case)))
elif __name__ == "__main__":
    main()
