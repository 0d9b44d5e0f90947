"""Mixtures of experts and optimizers on the host under Megatron-Core, one rank of N on the pretended GPU: the last rows of Megatron in
`tests/data/cuda/frameworks.jsonl`.

    PYTHONPATH=RUNNERS:SITE python megatron_moe.py > rows.jsonl                             # the rows to be measured
    PYTHONPATH=RUNNERS:SITE python megatron_moe.py rows.jsonl out.jsonl [--only ID,ID]      # measures them

RUNNERS and SITE as in `megatron_lora.py`; `megatron_moe.patch` is applied to the pretended GPU: it answers how many elements a mask holds,
and leaves host copies of logits untouched. Adds to rows of `run_megatron.py`: `flags.permute_fusion` (true there), `flags.dispatcher`
allgather, shared experts, `flags.optimizer` (fields of OptimizerConfig), and `flags.routing`: loads of experts drawn from a log-normal
distribution of that width, anew for every block and micro-batch; without it every expert gets equally many tokens. With `flags.lora`,
SWIFT in the environment is the unpacked wheel of ms-swift."""
import ctypes, hashlib, json, os, random, sys
import run_megatron, pretend
from make_rows import M, qwen

def answer(n): ctypes.CDLL(None).pretend_gpu_answer(ctypes.c_longlong(n))

def loads(seed, tokens, k, experts, ranks, width):
    """Tokens that each rank sends to each expert: k different experts for a token, so none gets more than all."""
    draw = random.Random(seed)
    weights = [draw.lognormvariate(0, width) for _ in range(experts)]
    def one():
        mine = [w * draw.lognormvariate(0, width / 4) for w in weights]
        counts, open_, left = [0] * experts, list(range(experts)), tokens * k
        while left and open_:
            total = sum(mine[e] for e in open_)
            add = {e: min(tokens - counts[e], max(1, int(left * mine[e] / total))) for e in open_}
            for e, n in add.items():
                n = min(n, left); counts[e] += n; left -= n
            open_ = [e for e in open_ if counts[e] < tokens]
        return counts
    return [one() for _ in range(ranks)]

STATS = []
def routing(flags):
    import torch
    from megatron.core.transformer.moe import token_dispatcher as td
    AllToAll, AllGather = td.MoEAlltoAllTokenDispatcher, td.MoEAllGatherTokenDispatcher
    permute = td.permute
    def told(tokens, routing_map, probs=None, num_out_tokens=None, fused=False, drop_and_pad=False):
        """How many rows a mask picks is read back: it is what the dispatcher says."""
        if not fused and not drop_and_pad: answer(int(num_out_tokens))
        out = permute(tokens, routing_map, probs=probs, num_out_tokens=num_out_tokens, fused=fused, drop_and_pad=drop_and_pad)
        answer(-1)
        return out
    td.permute = told
    post = AllGather.dispatch_postprocess
    def gathered(self, hidden, probs):
        experts = self.config.num_moe_experts
        each = hidden.shape[0] * self.router_topk // experts
        def counted(*args, **more):
            answer(each * self.num_local_experts)
            out = permute(*args, **more)
            return out  # the probabilities are picked next
        answer(each); td.permute = counted
        try: return post(self, hidden, probs)
        finally: answer(-1); td.permute = told
    AllGather.dispatch_postprocess = gathered
    width, calls, drawn = flags.get("routing"), {}, {}
    real = AllToAll._maybe_dtoh_and_synchronize
    def answered(self, point, tokens_per_expert=None):
        out = real(self, point, tokens_per_expert)
        if point != self.cuda_dtoh_point and point != self.cuda_sync_point: return out
        ranks, each, local = self.tp_size * self.ep_size, self.num_out_tokens // self.num_experts, self.num_local_experts
        if width:
            if point == self.cuda_dtoh_point:
                kind = (id(self), torch.is_grad_enabled()); calls[kind] = calls.get(kind, -1) + 1
                key = (id(self), calls[kind])
                if key not in drawn: drawn[key] = loads(len(drawn), self.num_out_tokens // self.config.moe_router_topk, self.config.moe_router_topk, self.num_experts, ranks, width)
                self.drawn = drawn[key]
            first = self.local_expert_indices[0]
            at = torch.distributed.get_rank(self.ep_group)
            mine = [[row[first + e] for e in range(local)] for row in self.drawn]
            if point == self.cuda_dtoh_point and torch.is_grad_enabled(): STATS.append(sum(map(sum, mine)) / (each * ranks * local))
        else: mine = [[each] * local for _ in range(ranks)]
        if ranks > 1:
            self.input_splits = [sum(self.drawn[at][r * local:(r + 1) * local]) for r in range(self.ep_size)] if width else [each * local] * self.ep_size
            assert not (width and self.tp_size > 1)
            self.output_splits = [sum(row) for row in mine] if width else [each * local] * self.ep_size
            self.output_splits_tp = [each * local * self.ep_size] * self.tp_size
            if self.tp_size > 1: self.output_splits_tp = torch.tensor(self.output_splits_tp)
        if local > 1:
            n = self.num_global_tokens_per_local_expert
            self.num_global_tokens_per_local_expert = torch.tensor(mine, dtype=torch.int64, device=n.device)
        return torch.tensor([sum(row[e] for row in mine) for e in range(local)], dtype=torch.int64)
    AllToAll._maybe_dtoh_and_synchronize = answered

def measure(row):
    f, c = row.get("flags", {}), row["config"]
    plain = run_megatron.transformer_config
    def config(c, run, f, p):
        made = plain(c, run, f, p)
        if c.get("num_experts"):
            made.moe_permute_fusion = f.get("permute_fusion", True)
            if c.get("shared_expert_intermediate_size"): made.moe_shared_expert_intermediate_size = c["shared_expert_intermediate_size"]
            made.moe_shared_expert_gate = c["model_type"] == "qwen2_moe"
            if f.get("shared_expert_overlap"): made.moe_shared_expert_overlap = True
            if f.get("aux_loss"): made.moe_router_load_balancing_type, made.moe_aux_loss_coeff = "aux_loss", f["aux_loss"]
            if "router_dtype" in f: made.moe_router_dtype = f["router_dtype"]
        return made
    run_megatron.transformer_config = config
    run_megatron.balanced_routing = lambda: routing(f)
    if f.get("optimizer"):
        engine = run_megatron.transformer_engine
        def with_optimizer():
            engine(); run_megatron.apex_wgrad()
            import torch
            import megatron.core.optimizer as mo
            base = mo.OptimizerConfig
            more = {k: getattr(torch, v) if k.endswith("_dtype") else v for k, v in f["optimizer"].items()}
            mo.OptimizerConfig = lambda **kw: base(**dict(kw, **more))
        run_megatron.transformer_engine = with_optimizer
    if f.get("lora"):
        import megatron_lora
        made = megatron_lora.measure(row)
    else: made = run_megatron.measure(row)
    if STATS:
        s = sorted(STATS)
        made["measured"]["loads"] = dict(least=round(s[0], 3), median=round(s[len(s) // 2], 3), most=round(s[-1], 3))
    return made

def mixture(layers, hidden, heads, groups, experts, top, ffn, kind="qwen3_moe", vocab=151936, **more):
    return dict(qwen(hidden, 6144, layers, heads, groups, vocab, kind, **({} if kind == "qwen2_moe" else dict(head_dim=128))), num_experts=experts, num_experts_per_tok=top, moe_intermediate_size=ffn, **more)

Q = ("qwen3-30b-a3b, 4 layers", mixture(4, 2048, 32, 4, 128, 8, 768))
X = ("mixtral-like, 2 layers", mixture(2, 4096, 32, 8, 8, 2, 14336, vocab=32000))
S = ("qwen1.5-moe, 4 layers", mixture(4, 2048, 16, 16, 60, 4, 1408, "qwen2_moe", shared_expert_intermediate_size=5632))

def row(model, seq, b=1, size=8, rank=0, recompute="none", ga=2, flags=(), **p):
    run = dict(seq_length=seq, micro_batch_size=b, precision="bf16", recompute=recompute, steps=3, gradient_accumulation_steps=ga)
    made = dict(framework="megatron", model=model[0], config=model[1], run=run, parallel=dict(size=size, **p), flags=dict(dict(spec="te"), **dict(flags)), rank=rank)
    made["id"] = hashlib.sha1(json.dumps(made, sort_keys=True).encode()).hexdigest()[:10]
    return made

HOST = dict(optimizer=dict(optimizer_cpu_offload=True, optimizer_offload_fraction=1.0, use_precision_aware_optimizer=True))
SMALL = ("qwen3-moe, 2 layers of 16 experts", mixture(2, 2048, 32, 4, 16, 4, 768, vocab=32000))

def rows():
    off = dict(permute_fusion=False)
    only = lambda *names: dict(recompute_modules=list(names))
    gather = dict(dispatcher="allgather")
    # The order of allocations was checked with these.
    yield row(Q, 4096, ep=8, flags=off)
    yield row(Q, 4096, 2, ep=2, recompute="full", flags=off)
    yield row(X, 4096, size=4, ep=2, flags=off)
    yield row(X, 4096, ep=8, recompute="full", flags=off)
    yield row(Q, 4096, size=4, ep=4, recompute="selective", flags=dict(only("moe")))
    yield row(Q, 4096, size=4, ep=4, recompute="selective", flags=dict(off, **only("moe")))
    yield row(Q, 4096, size=4, ep=4, flags=gather)
    yield row(Q, 4096, size=4, ep=4, flags=dict(gather, **off))
    yield row(S, 4096, size=4, ep=4)
    yield row(S, 4096, size=4, ep=2, recompute="full", flags=off)
    yield row(Q, 4096, size=4, ep=4, recompute="selective", flags=only("moe_act"))
    # Held back.
    yield row(Q, 8192, size=4, ep=4, recompute="selective", flags=off)
    yield row(Q, 4096, size=8, ep=4, tp=2, sp=True, etp=1, recompute="full", flags=off)
    yield row(Q, 2048, 2, size=8, pp=2, ep=4, ga=4, flags=off)
    yield row(X, 2048, 2, size=4, ep=4, recompute="full", flags=off)
    yield row(X, 4096, size=2, ep=2, recompute="selective", flags=dict(only("moe")))
    yield row(X, 4096, size=4, ep=4, recompute="selective", flags=dict(off, **only("moe", "core_attn")))
    yield row(X, 4096, size=4, ep=2, flags=gather)
    yield row(Q, 4096, size=8, ep=8, recompute="full", flags=dict(gather, **off))
    yield row(S, 8192, size=4, ep=4, recompute="full", flags=off)
    yield row(S, 4096, size=2, ep=2, recompute="selective", flags=dict(off, **only("moe")))
    yield row(X, 4096, size=4, ep=4, recompute="selective", flags=dict(off, **only("moe_act")))
    # Optimizer states on the host.
    yield row(("qwen2.5-0.5b", M["qwen2.5-0.5b"]), 4096, size=2, recompute="full", flags=HOST)
    yield row(("qwen2.5-0.5b", M["qwen2.5-0.5b"]), 2048, size=4, tp=2, sp=True, recompute="selective", flags=HOST)
    yield row(("llama-3.2-1b", M["llama-3.2-1b"]), 2048, size=8, tp=2, sp=True, recompute="full", flags=HOST)
    yield row(SMALL, 4096, size=4, ep=4, recompute="full", flags=dict(HOST, permute_fusion=False))
    yield row(("qwen2.5-0.5b", M["qwen2.5-0.5b"]), 4096, size=4, pp=2, ga=4, flags=HOST)

if __name__ == "__main__":
    only = sys.argv[sys.argv.index("--only") + 1].split(",") if "--only" in sys.argv else None
    if len(sys.argv) < 3:
        for made in rows(): print(json.dumps(made))
        sys.exit()
    measured, out = sys.argv[1:3]
    import transformers
    transformers.logging.set_verbosity_error()
    if os.environ.get("SWIFT"):
        import peft  # noqa: F401
    for line in open(measured):
        row = json.loads(line)
        if only and row["id"] not in only: continue
        if row.get("flags", {}).get("lora"): sys.argv[1] = os.environ["SWIFT"]
        made = pretend.in_child(lambda: measure(row))
        with open(out, "a") as file: print(json.dumps(dict(row, **made, kind="pretend_framework"), separators=(", ", ": ")), file=file)
        found = made.get("measured", {})
        print(row["id"], row.get("model"), row["run"]["recompute"], row["parallel"], json.dumps(row.get("flags")), *[round(found.get(k, 0) / 2**30, 3) for k in ("peak_allocated", "peak_reserved")], found.get("loads", ""), found.get("seconds"), made.get("error", ""), made.get("where", "")[-2500:], file=sys.stderr, flush=True)
