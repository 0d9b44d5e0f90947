"""Random plausible runs of scaled-down models under frameworks: python fuzz_rows.py SEED COUNT > rows.jsonl (beside make_rows.py)."""
import json, random, sys
SEED, COUNT = int(sys.argv[1]), int(sys.argv[2])
sys.argv = [sys.argv[0], "none"]
import make_rows
from make_rows import ROWS, add
ROWS.clear()
R = random.Random(SEED)
def of(kind, h, f, L, a, k, v, **kw): return dict(model_type=kind, hidden_size=h, intermediate_size=f, num_hidden_layers=L, num_attention_heads=a, num_key_value_heads=k, vocab_size=v, max_position_embeddings=32768, **kw)
MODELS = {
    "llama": lambda: of("llama", 2048, 8192, R.choice([3, 5]), 32, 8, R.choice([32000, 128256]), head_dim=64, tie_word_embeddings=R.random() < .5),
    "qwen2": lambda: of("qwen2", 1536, 8960, R.choice([3, 6]), 12, 2, 151936, tie_word_embeddings=True),
    "qwen3": lambda: of("qwen3", 1024, 3072, R.choice([4, 8]), 16, 8, 151936, head_dim=128, tie_word_embeddings=True),
    "gemma2": lambda: of("gemma2", 2304, 9216, R.choice([2, 4]), 8, 4, 256000, head_dim=256, tie_word_embeddings=True),
    "gemma3_text": lambda: of("gemma3_text", 1152, 6912, R.choice([4, 7]), 4, 1, 262144, head_dim=256, sliding_window=512, tie_word_embeddings=True),
    "phi3": lambda: of("phi3", 3072, 8192, R.choice([2, 4]), 32, 32, 32064, sliding_window=2047, pad_token_id=32000, tie_word_embeddings=False),
    "phi": lambda: of("phi", 2560, 10240, R.choice([2, 4]), 32, 32, 51200, tie_word_embeddings=False),
    "mistral": lambda: of("mistral", 4096, 14336, 2, 32, 8, 32768, head_dim=128, sliding_window=None, tie_word_embeddings=False),
    "olmo2": lambda: of("olmo2", 2048, 8192, R.choice([3, 5]), 16, 16, 100352, tie_word_embeddings=False),
    "gpt2": lambda: dict(model_type="gpt2", n_embd=1024, n_layer=R.choice([6, 10]), n_head=16, n_positions=4096, vocab_size=50257),
    "granite": lambda: of("granite", 2048, 8192, R.choice([3, 5]), 32, 8, 49155, tie_word_embeddings=True, attention_multiplier=0.015625, embedding_multiplier=12.0, logits_scaling=8.0, residual_multiplier=0.22),
    "smollm3": lambda: of("smollm3", 2048, 11008, R.choice([4, 6]), 16, 4, 128256, tie_word_embeddings=True),
    "qwen3_moe": lambda: dict(of("qwen3_moe", 1024, 3072, R.choice([3, 5]), 16, 4, 151936, head_dim=64, tie_word_embeddings=False), num_experts=16, num_experts_per_tok=4, moe_intermediate_size=768),
    "olmoe": lambda: dict(of("olmoe", 1024, 1024, R.choice([3, 4]), 16, 16, 50304, tie_word_embeddings=False), num_experts=16, num_experts_per_tok=4),
}
def some(p, **kw): return kw if R.random() < p else {}
def model(dense=False):
    name = R.choice([k for k in MODELS if not (dense and k in ("qwen3_moe", "olmoe"))])
    return name, MODELS[name]()
def shape():
    seq, b = R.choice([(512, 4), (1024, 2), (1024, 4), (2048, 1), (2048, 2), (4096, 1), (3000, 1), (1536, 2)])
    return seq, b
def run(**kw):
    return dict(recompute=R.choice(["none", "full"]), **some(.25, gradient_accumulation_steps=R.choice([2, 3])), **some(.2, alloc_conf=R.choice(["expandable_segments:True", "expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:8"])), **some(.1, attention="eager"), **kw)
def ddp():
    n, c = model(True); s, b = shape(); q = run(precision=R.choice(["bf16", "amp_bf16", "fp32"]), optimizer_implementation=R.choice(["foreach", "fused"]), **some(.2, clip=1.0))
    add("ddp", n, s, b, size=R.choice([2, 4, 8]), config=c, flags=dict(gradient_as_bucket_view=R.random() < .5, **some(.3, bucket_cap_mb=R.choice([10, 50])), **some(.3, no_sync=True), **some(.2, static_graph=True)), **q)
def fsdp1():
    n, c = model(True); s, b = shape(); size = R.choice([2, 4, 8])
    add("fsdp1", n, s, b, size=size, rank=R.choice([0, size - 1]), config=c, flags=dict(use_orig_params=R.random() < .8, **some(.2, sharding_strategy="SHARD_GRAD_OP"), **some(.2, reduce_dtype="float32"), **some(.2, no_sync=True)), **run(precision="fsdp_mixed", optimizer_implementation=R.choice(["foreach", "fused"]), **some(.3, clip=1.0)))
    r = ROWS[-1]
def fsdp2():
    n, c = model(); s, b = shape(); size = R.choice([2, 4, 8])
    add("fsdp2", n, s, b, size=size, rank=R.choice([0, size - 1]), config=c, flags=dict(**some(.3, reshard_after_forward=False), **some(.3, reduce_dtype="bfloat16"), **some(.2, no_sync=True)), **run(precision=R.choice(["fsdp_mixed", "fsdp_mixed", "bf16"]), optimizer_implementation=R.choice(["foreach", "fused", "for_loop"]), **some(.3, clip=1.0)))
def deepspeed():
    n, c = model(True); s, b = shape(); stage = R.choice([0, 1, 2, 2, 3, 3]); size = R.choice([2, 4, 8])
    f = dict(stage=stage, **some(.3, overlap_comm=R.random() < .7), **some(.2, reduce_bucket_size=int(R.choice([5e7, 2e8]))), **some(.15, contiguous_gradients=False), **some(.2, grad_accum_dtype=R.choice(["fp32", "bf16"])), **some(.15, offload_optimizer=True), **some(.15, model_dtype="fp32"), **some(.15, lora=dict(r=16)))
    if stage == 0: f.pop("offload_optimizer", 0)
    if stage == 3: f.update(some(.4, stage3_param_persistence_threshold=R.choice([0, 10**5])), **some(.2, stage3_max_live_parameters=10**7), **some(.2, sub_group_size=2 * 10**7))
    q = run(precision=R.choice(["bf16", "bf16", "bf16", "fp16"])); q.pop("attention", 0)
    add("deepspeed", n, s, b, size=size, rank=R.choice([0, size - 1]), config=c, flags=f, **q)
def trainer():
    n, c = model(); s, b = shape(); size = R.choice([1, 1, 1, 4])
    f = dict(**some(.35, lora=dict(r=R.choice([8, 16, 64]), **some(.3, dropout=.05), **some(.3, targets=["q_proj", "v_proj"]))), **some(.3, trl=True), **some(.1, attention_mask=True))
    if n in ("llama", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "mistral", "olmo2", "granite", "smollm3"): f.update(some(.3, liger=True))
    if n in ("gpt2",): f.pop("lora", 0)
    if n in ("qwen3_moe", "olmoe") and "lora" in f: f["lora"]["targets"] = ["q_proj", "k_proj", "v_proj", "o_proj"]
    if "lora" in f and n in ("llama", "qwen2", "qwen3", "mistral") and not f.get("trl"): f.update(some(.5, quantize=dict(double=True)))
    if "lora" not in f and R.random() < .6: f["optim"] = R.choice(["adamw_torch", "adafactor", "adamw_8bit", "sgd", "lion_32bit", "lion_8bit", "paged_adamw_8bit", "rmsprop", "adagrad", "paged_adamw_32bit"])
    if size == 4 and "quantize" not in f: f.update(some(.5, deepspeed=R.choice([make_rows.AUTO, make_rows.TWO, dict(stage=3), dict(stage=2)])))
    q = run(precision=R.choice(["bf16", "bf16", "amp_bf16", "fp32"]) if "deepspeed" not in f and "quantize" not in f else "bf16")
    add("trainer", n, s, b, size=size, config=c, flags=f, **q)
for i in range(COUNT): R.choice([ddp, fsdp1, fsdp2, fsdp2, deepspeed, deepspeed, trainer, trainer, trainer])()
for r in ROWS: print(json.dumps(r))
