"""Rows of fine-tuning for tests/data/measured_tuning/: peft's adapters on transformers' models, asked of PyTorch itself (FakeTensorMode,
MemTracker) as the truth's `lora.py` does.

Usage: tuning.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is {"config": {"model_type": ..., ...}, "run": {...}}; what `run` leaves out takes the default below. Weights of four bits are
emulated after bitsandbytes 0.50: packed values and scales are stored, each product makes the weight whole for a moment in forward and
again in backward, and the adapter is put together as peft's `Linear4bit` does. Needs torch, transformers, numpy and peft.
"""
import hashlib, json, sys, traceback

sys.path.insert(0, sys.argv[1])
import measure, torch, transformers
from measure import DEV
import peft.tuners.tuners_utils as tuners_utils
from peft import LoraConfig, PrefixTuningConfig, PromptTuningConfig, get_peft_model
from peft.tuners.lora import dora
from peft.tuners.lora.dora import DoraLinearLayer
from peft.tuners.lora.layer import Linear as LoraLinear
from peft.utils import ModulesToSaveWrapper
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from transformers import AutoModelForCausalLM

DEFAULT = dict(method="lora", seq_length=512, micro_batch_size=1, precision="bf16", adapter_precision="bf16", base="weights",
               attention="flash", kernels="eager", recompute="none", optimizer="adamw", optimizer_implementation="fused",
               gradient_accumulation_steps=1, lora_rank=8, lora_targets=["q_proj", "v_proj"], lora_dropout=0.0, modules_to_save=[], num_virtual_tokens=20, frozen_layers=0,
               frozen_embeddings=False)

# Fake tensors live on no device, and the tracker asks parameters that want no gradient for hooks.
tuners_utils.BaseTunerLayer._move_adapter_to_device_of_base_layer = lambda self, *a, **k: None
class Hook:
    def remove(self): pass
hook, accumulated = torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook
torch.Tensor.register_hook = lambda self, h: hook(self, h) if self.requires_grad else Hook()
torch.Tensor.register_post_accumulate_grad_hook = lambda self, h: accumulated(self, h) if self.requires_grad else Hook()

def whole(layer):
    """`dequantize_4bit`: scales of 8 bits are made whole first."""
    scales = torch.empty(layer.scales.numel(), dtype=torch.float32, device=DEV) if layer.double else None
    weight = torch.empty(layer.out_features, layer.in_features, dtype=torch.bfloat16, device=DEV)
    del scales
    return weight

class MatMul4Bit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer):
        ctx.layer = layer
        return torch.nn.functional.linear(x, whole(layer), layer.bias)
    @staticmethod
    def backward(ctx, grad):
        return torch.matmul(grad, whole(ctx.layer)) if ctx.needs_input_grad[0] else None, None

class Linear4bit(torch.nn.Linear):
    def __init__(self, linear, double):
        torch.nn.Module.__init__(self)
        self.in_features, self.out_features, self.bias, self.double = linear.in_features, linear.out_features, linear.bias, double
        values = linear.weight.numel()
        self.weight = torch.nn.Parameter(torch.empty(values // 2, 1, dtype=torch.uint8, device=DEV), requires_grad=False)
        buffer = lambda name, count, dtype: self.register_buffer(name, torch.empty(count, dtype=dtype, device=DEV))
        buffer("codes", 16, torch.float32)
        buffer("scales", -(-values // 64), torch.uint8 if double else torch.float32)
        if double:
            buffer("scales_of_scales", -(-(-(-values // 64)) // 256), torch.float32)
            buffer("offset", 1, torch.float32)
    def forward(self, x):
        return MatMul4Bit.apply(x, self)

def lora_4bit(self, x):
    """`peft.tuners.lora.bnb.Linear4bit.forward`."""
    result = self.base_layer(x)
    result = result.clone()
    for name in self.active_adapters:
        lora_a, lora_b = self.lora_A[name], self.lora_B[name]
        expected = result.dtype
        converts = not torch.is_autocast_enabled()
        if converts:
            x = self._cast_input_dtype(x, lora_a.weight.dtype)
        if name in self.lora_variant:
            result = self.lora_variant[name].forward(self, active_adapter=name, x=x, result=result)
            result = result.to(expected) if converts else result
            continue
        output = lora_b(lora_a(self.lora_dropout[name](x))) * self.scaling[name]
        output = output.to(expected) if converts else output
        result = result + output
    return result

# DoRA makes a packed weight whole to compare its columns.
# A copy of a fake tensor ends the program, and nothing reads the copy's values.
dora.deepcopy = lambda layer: layer
dequantise = dora.dequantize_module_weight
dora.dequantize_module_weight = lambda layer: whole(layer) if isinstance(layer, Linear4bit) else dequantise(layer)

def product(self, lora_A, lora_B, adapter_name=None):
    """`get_lora_weight` without calling the two modules, whose outputs the tracker's hooks would keep alive; the tensors are the same."""
    eye = torch.eye(lora_A.weight.shape[1], device=lora_A.weight.device, dtype=lora_A.weight.dtype)
    linear = torch.nn.functional.linear
    return linear(linear(eye, lora_A.weight), lora_B.weight).T
DoraLinearLayer.get_lora_weight = product

def update(self, adapter):
    """`get_delta_weight` as it is on a GPU: on the CPU, where fake tensors are, peft makes factors of 16 bits fp32 first."""
    return (self.lora_B[adapter].weight @ self.lora_A[adapter].weight) * self.scaling[adapter]
LoraLinear.get_delta_weight = update

def quantise(model, double):
    head = model.get_output_embeddings()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and child is not head:
                setattr(module, name, Linear4bit(child, double))

def optimizer(run, params):
    kw = dict(lr=1e-4, **dict(for_loop=dict(foreach=False), foreach=dict(foreach=True), fused=dict(fused=True))[run["optimizer_implementation"]])
    return dict(adamw=lambda: torch.optim.AdamW(params, **kw), sgd_momentum=lambda: torch.optim.SGD(params, momentum=0.9, **kw),
                adafactor=lambda: torch.optim.Adafactor(params, lr=1e-4, foreach=False))[run["optimizer"]]()

def renew_copies(model):
    """A parameter that was copied with `deepcopy` as a fake tensor has views with a storage of their own, which no real one has: it is made anew."""
    for wrapper in model.modules():
        if isinstance(wrapper, ModulesToSaveWrapper):
            for copied in wrapper.modules_to_save.values():
                copied.weight = torch.nn.Parameter(torch.empty_like(copied.weight))

def prepared(config, run):
    """The model with what learns, and how many parameters it has."""
    dtype = torch.float32 if run["precision"] in ("fp32", "amp_bf16") else torch.bfloat16
    with torch.device(DEV):
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
        count = sum(p.numel() for p in model.parameters())
        if run["method"] == "full":
            base = model.base_model
            blocks = next(m for m in base.modules() if isinstance(m, torch.nn.ModuleList))
            for block in blocks[:run["frozen_layers"]]: block.requires_grad_(False)
            if run["frozen_embeddings"]:
                for m in base.modules():
                    if isinstance(m, torch.nn.Embedding): m.requires_grad_(False)
            return model, count
        if run["base"] != "weights":
            quantise(model, run["base"] == "nf4_double")
            LoraLinear.forward = lora_4bit
        torch.set_default_dtype(torch.float32 if run["adapter_precision"] == "fp32" else torch.bfloat16)
        to, torch.nn.Module.to = torch.nn.Module.to, lambda self, *a, **k: self
        before = sum(p.numel() for p in model.parameters())
        targets = run["lora_targets"]
        learned = dict(prompt=PromptTuningConfig, prefix=PrefixTuningConfig).get(run["method"])
        prompt = learned and learned(task_type="CAUSAL_LM", num_virtual_tokens=run["num_virtual_tokens"])
        model = get_peft_model(model, prompt or LoraConfig(r=run["lora_rank"], lora_alpha=16, lora_dropout=run["lora_dropout"],
                               target_modules=targets[0] if targets == ["all-linear"] else targets,
                               modules_to_save=run["modules_to_save"] or None, use_dora=run["method"] == "dora",
                               task_type="CAUSAL_LM"), autocast_adapter_dtype=False)
        torch.set_default_dtype(torch.float32); torch.nn.Module.to = to
        renew_copies(model)
        return model, count + sum(p.numel() for p in model.parameters()) - before

class FusedLinearCE(measure.FusedLinearCE):
    """`measure.FusedLinearCE`, which as Liger's kernel makes no gradient of a head that is frozen."""
    @staticmethod
    def forward(ctx, h, w, chunk):
        logits = torch.empty(min(chunk, h.shape[0]), w.shape[0], dtype=torch.float32, device=h.device); del logits
        ctx.save_for_backward(torch.empty_like(h), torch.empty_like(w) if w.requires_grad else None)
        return torch.empty((), dtype=torch.float32, device=h.device)

def fused(model):
    """`measure.fuse` of the model inside peft's, whose `forward` then hands it the learned keys and values."""
    inside = model.get_base_model()
    measure.fuse(inside)
    base, head = inside.model, inside.lm_head
    class Output: pass
    def forward(input_ids=None, past_key_values=None, **ignored):
        hidden = base(input_ids=input_ids, past_key_values=past_key_values).last_hidden_state
        output = Output(); output.loss = FusedLinearCE.apply(hidden.reshape(-1, hidden.shape[-1]), head.weight, 1024)
        return output
    inside.forward = forward

def measured(config, run, steps=2):
    config._attn_implementation = {"flash": "truth_fa", "eager": "eager"}[run["attention"]]
    config.use_cache = False
    plain = LoraLinear.forward
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            model, count = prepared(config, run)
            model.train()
            if run["kernels"] == "fused": fused(model) if run["method"] == "prefix" else measure.fuse(model)
            if run["recompute"] == "full":
                model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
                if run["method"] != "full": model.enable_input_require_grads()
            learns = [p for p in model.parameters() if p.requires_grad]
            opt = optimizer(run, learns)
            ids = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64, device=DEV)
            tracker = MemTracker(); tracker.track_external(model, opt, ids)
            snapshot = lambda which: {str(getattr(k, "name", k)).lower(): v for k, v in tracker.get_tracker_snapshot(which)[torch.device(DEV)].items()}
            import contextlib
            with tracker:
                for _ in range(steps):
                    for _ in range(run["gradient_accumulation_steps"]):
                        tracker.reset_mod_stats()
                        with torch.autocast(DEV, dtype=torch.bfloat16) if run["precision"] == "amp_bf16" else contextlib.nullcontext():
                            out = model(input_ids=ids, labels=ids); loss = out.loss; del out
                        forward = snapshot("current")
                        loss.backward(); del loss
                    opt.step(); opt.zero_grad()
                    peak = snapshot("peak")
            return dict(parameters=count, trainable_parameters=sum(p.numel() for p in learns), after_forward_bytes=forward, peak_bytes=peak)
    finally:
        LoraLinear.forward = plain

for line in sys.stdin:
    case = json.loads(line)
    shape, run = dict(case["config"]), {**DEFAULT, **case["run"]}
    try:
        config = transformers.AutoConfig.for_model(shape["model_type"], **{k: v for k, v in shape.items() if k != "model_type"})
        got = measured(config, run)
    except Exception:
        print(shape["model_type"], run, traceback.format_exc()[-1500:], file=sys.stderr, flush=True)
        continue
    kind = "frozen" if run["method"] == "full" else "qlora" if run["base"] != "weights" else run["method"]
    row = dict(id=hashlib.sha256(line.encode()).hexdigest()[:10], kind=kind, model=shape["model_type"], config=shape, run=run,
               parallel={}, measured=got)
    print(json.dumps(row), flush=True)
