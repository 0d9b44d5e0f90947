"""Rows for tests/data/measured/ under FSDP2: asks PyTorch itself (FakeTensorMode, FSDPMemTracker on a pretended process group).

Usage: measured_fsdp.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is one of measured.py with `parallel.fully_sharded`, the number of ranks. Every block of the text, and every block of a vision tower, is a
group; the rest is the root's. Weights are gathered in bf16, and gradients reduced in fp32.
"""
import hashlib, json, os, sys, traceback

os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"
sys.path.insert(0, sys.argv[1])
import images, measure, torch, transformers
from transformers import initialization
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.fsdp2_mem_tracker import FSDPMemTracker
from torch.distributed._tools import mod_tracker
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.testing._internal.distributed.fake_pg import FakeStore

mod_tracker.register_multi_grad_hook = images.without_graph
initialization.trunc_normal_ = lambda tensor, *args, **keys: tensor
DEFAULT = dict(seq_length=512, micro_batch_size=1, precision="fsdp_mixed", attention="flash", kernels="eager", recompute="none",
               optimizer="adamw", optimizer_implementation="for_loop", gradient_accumulation_steps=1)


# Names of towers' blocks.
BLOCKS = ("VisionBlock", "VisionLayer", "EncoderLayer", "PixtralAttentionLayer")


def blocks(model):
    """Blocks of the tower, and those of the text."""
    tower = images.tower(model)
    if tower is not None:
        yield from (module for module in tower.modules() if type(module).__name__.endswith(BLOCKS))
    text = getattr(model.model, "language_model", None) or model.model.text_model
    yield from text.layers


def run(config, run, world):
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    config._attn_implementation = {"flash": "truth_fa", "eager": "eager"}[run["attention"]]
    config.use_cache = config.get_text_config().use_cache = False
    with FakeTensorMode(allow_non_fake_inputs=True):
        model = getattr(transformers, config.architectures[0])._from_config(config, dtype=torch.float32)
        model.train()
        parameters = sum(parameter.numel() for parameter in model.parameters())
        if run["recompute"] == "full":
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        images.prepare(model, run)
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
        for block in blocks(model):
            fully_shard(block, mesh=mesh, mp_policy=policy)
        fully_shard(model, mesh=mesh, mp_policy=policy)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
        ids = torch.zeros(run["micro_batch_size"], run["seq_length"], dtype=torch.int64)
        beside = images.inputs(config, run)
        tracker = FSDPMemTracker(model, optimizer)
        tracker.track_inputs((ids, *(value for value in beside.values() if isinstance(value, torch.Tensor))))
        names = lambda held: {str(getattr(kind, "name", kind)).lower(): size for kind, size in held.items()}
        here = torch.device("cpu")
        with tracker:
            for step in range(2):
                loss = model(**images.placed(config, run, dict(input_ids=ids)), labels=ids, **beside).loss
                after = names(tracker.get_tracker_snapshot("current")[here])
                loss.backward()
                del loss
                optimizer.step()
                optimizer.zero_grad()
                peak = names(tracker.get_tracker_snapshot("peak")[here])
                if step == 0:
                    tracker.reset_mod_stats()
    return parameters, after, peak


for line in sys.stdin:
    case = json.loads(line)
    shape, keys = dict(case["config"]), {**DEFAULT, **case["run"]}
    config = transformers.AutoConfig.for_model(shape["model_type"], **{key: value for key, value in shape.items() if key != "model_type"})
    try:
        parameters, after, peak = run(config, keys, case["parallel"]["fully_sharded"])
    except Exception:
        print(shape["model_type"], keys, traceback.format_exc(), file=sys.stderr, flush=True)
        continue
    print(json.dumps(dict(id=hashlib.sha256(line.encode()).hexdigest()[:10], kind="fsdp", model=shape["model_type"], config=shape, run=keys,
                          parallel=dict(case["parallel"], reshard_after_forward=True, reduce_dtype="fp32"), measured=dict(parameters=parameters, after_forward_bytes=after, peak_bytes=peak))), flush=True)
