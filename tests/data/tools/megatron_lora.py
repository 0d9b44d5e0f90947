"""Adapters under Megatron-Core as ms-swift puts them there, one rank of N on the pretended GPU: `tests/data/cuda/megatron_lora.jsonl`.

    PYTHONPATH=RUNNERS:SITE python megatron_lora.py SWIFT > rows.jsonl                         # the rows to be measured
    PYTHONPATH=RUNNERS:SITE python megatron_lora.py SWIFT rows.jsonl out.jsonl [--only ID,ID]  # measures them

RUNNERS: the folder of `run_megatron.py` and `pretend.py`, see `../cuda/README.md`; SITE: where megatron-core 0.16.1, Transformer Engine
2.20.2 and peft 0.18 are; SWIFT: the unpacked wheel of ms-swift 4.0.0, of which `swift/megatron/tuners/lora.py` alone is loaded. A row is one of
`run_megatron.py` with `flags.lora`: `r`, `dropout`, and `targets` ("all-linear", or names of Megatron's modules).
"""
import hashlib, importlib.util, json, os, sys, types

SWIFT = sys.argv[1]


def swift_lora():
    """ms-swift's `LoraParallelLinear`, put where peft looks for Megatron's layers; what else its file asks of ms-swift has no part in training."""
    import torch

    def module(name, **contents):
        made = sys.modules[name] = types.ModuleType(name)
        made.__path__ = []
        vars(made).update(contents)

    module("swift")
    module("swift.utils", get_current_device=lambda: torch.device("cuda", torch.cuda.current_device()))
    module("swift.megatron")
    module("swift.megatron.utils", tuners_sharded_state_dict=None)
    module("swift.megatron.tuners")
    place = os.path.join(SWIFT, "swift", "megatron", "tuners", "lora.py")
    spec = importlib.util.spec_from_file_location("swift.megatron.tuners.lora", place)
    lora = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lora)


def adapted(model, lora):
    """`prepare_adapter` of `swift/megatron/utils/utils.py`."""
    import peft
    from megatron.core.extensions.transformer_engine import TEGroupedLinear, TELayerNormColumnParallelLinear, TELinear
    linear = (TELinear, TELayerNormColumnParallelLinear, TEGroupedLinear)
    for module in model.modules():
        if isinstance(module, TEGroupedLinear): module.is_expert = True
    targets = lora.get("targets", "all-linear")
    if targets == "all-linear":
        targets = sorted({name.split(".")[-1] for name, module in model.named_modules() if isinstance(module, linear)})
    config = peft.LoraConfig(task_type="CAUSAL_LM", r=lora["r"], target_modules=targets, lora_alpha=32, lora_dropout=lora["dropout"], bias="none")
    model.prepare_inputs_for_generation = None
    tied = peft.tuners.tuners_utils.BaseTuner._get_tied_target_modules
    def get_tied(self, model):
        try: return tied(self, model)
        except AttributeError: return []
    peft.tuners.tuners_utils.BaseTuner._get_tied_target_modules = get_tied
    peft.get_peft_model(model, config)
    return model


def measure(row):
    """`run_megatron.measure` with adapters between the model and its cast to 16 bits."""
    import run_megatron, pretend
    lora = row["flags"].get("lora")
    setup = run_megatron.setup
    def prepared(*args, **more):
        setup(*args, **more)
        run_megatron.transformer_engine()
        run_megatron.apex_wgrad()
        from megatron.core.transformer.module import Float16Module
        from megatron.core.models.gpt.gpt_model import GPTModel
        swift_lora()
        cast, before = Float16Module.__init__, GPTModel._preprocess
        Float16Module.__init__ = lambda self, config, model: cast(self, config, adapted(model, lora))
        def preprocess(self, *args, **more):
            # `_preprocess` of `swift/megatron/model/gpt_model.py`: a recomputed block must get something that wants a gradient.
            import torch
            found = before(self, *args, **more)
            if found[0] is not None and self.training and torch.is_grad_enabled() and not found[0].requires_grad: found[0].requires_grad_(True)
            return found
        GPTModel._preprocess = preprocess
    if lora: run_megatron.setup = prepared
    made = run_megatron.measure(row)
    made["versions"].update({"ms-swift": "4.0.0"}, **pretend.version("peft"))
    return made


def rows():
    """The rows of the file."""
    from make_rows import M, qwen
    def row(model, seq, b=1, size=2, rank=0, recompute="selective", ga=2, lora=None, config=None, expandable=False, **p):
        flags = dict(spec="te", lora=dict(dict(r=8, dropout=0.05), **(lora or {})))
        run = dict(seq_length=seq, micro_batch_size=b, precision="bf16", recompute=recompute, steps=3, gradient_accumulation_steps=ga)
        if expandable: run["alloc_conf"] = "expandable_segments:True"
        made = dict(framework="megatron", model=model, config=config or M[model], run=run, parallel=dict(size=size, **p), flags=flags, rank=rank)
        made["id"] = hashlib.sha1(json.dumps(made, sort_keys=True).encode()).hexdigest()[:10]
        return made
    a3b = dict(qwen(2048, 6144, 48, 32, 4, 151936, "qwen3_moe", head_dim=128), num_experts=128, num_experts_per_tok=8, moe_intermediate_size=768)
    small, short = "qwen3-30b-a3b, 8 layers", dict(a3b, num_hidden_layers=8)
    two = dict(tp=2, sp=True)
    yield row("qwen3-4b", 4096)
    yield row("qwen3-4b", 4096, recompute="none", lora=dict(dropout=0.0))
    yield row("qwen2.5-7b", 4096, recompute="full")
    yield row("qwen3-4b", 4096, size=4, **two)
    yield row("qwen3-4b", 4096, size=4, recompute="full", **two)
    yield row("qwen3-4b", 4096, size=4, recompute="none", lora=dict(dropout=0.0), **two)
    yield row("qwen3-4b", 4096, size=4, recompute="none", lora=dict(r=64), tp=2, sp=False)
    for rank in (0, 3): yield row("qwen3-8b", 4096, size=4, rank=rank, ga=8, pp=2, **two)
    for rank in (0, 3): yield row("qwen3-8b", 4096, size=4, rank=rank, ga=8, recompute="full", expandable=True, pp=2)
    yield row("qwen2.5-7b", 8192, size=4, recompute="none", lora=dict(targets=["linear_qkv", "linear_proj"]), tp=4, sp=True)
    yield row(small, 4096, size=8, config=short, ep=8)
    yield row(small, 4096, size=8, config=short, recompute="full", ep=2)
    yield row(small, 4096, size=8, config=short, recompute="none", lora=dict(dropout=0.0), ep=4, etp=1, **two)
    yield row("qwen3-30b-a3b", 2048, 8, recompute="full", ga=1, config=a3b, expandable=True, ep=2)
    yield row("qwen3-30b-a3b", 8192, size=4, recompute="full", ga=4, lora=dict(r=32), config=a3b, expandable=True, ep=4)


def main():
    import pretend
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    if len(sys.argv) < 3:
        for row in rows(): print(json.dumps(row))
        return
    import transformers
    transformers.logging.set_verbosity_error()
    import peft  # noqa: F401
    for line in open(sys.argv[2]):
        row = json.loads(line)
        if only and row["id"] not in only: continue
        made = pretend.in_child(lambda: measure(row))
        with open(sys.argv[3], "a") as out: print(json.dumps(dict(row, **made, kind="pretend_framework"), separators=(", ", ": ")), file=out)
        found = made.get("measured", {})
        print(row["id"], row["model"], row["run"]["recompute"], row["parallel"], *[found.get(key) for key in ("peak_allocated", "peak_reserved")], made.get("error", ""), made.get("where", "")[-2500:], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
