"""Rows of FSDP and tensor parallelism for tests/data/measured/parallel.jsonl: asks PyTorch itself through the truth tools' `fsdp.run` and
`tensor_parallel.run`, which play one rank of a world that does not exist.

Usage: parallel.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is {"config": {"model_type": ..., ...}, "run": {...}, "parallel": {...}} with the keys of a row (a row is a case); what `run` leaves
out takes the default below. Needs torch, transformers and numpy.
"""
import hashlib, json, sys, traceback

sys.path.insert(0, sys.argv[1])
import fsdp, models, tensor_parallel, transformers

DEFAULT = dict(seq_length=512, micro_batch_size=1, attention="flash", kernels="eager", recompute="none", optimizer="adamw",
               optimizer_implementation="for_loop", gradient_accumulation_steps=1)

for line in sys.stdin:
    case = json.loads(line)
    shape, parallel = dict(case["config"]), case["parallel"]
    kind = "fsdp" if "fully_sharded" in parallel else "tp"
    run = {**DEFAULT, "precision": "fsdp_mixed" if kind == "fsdp" else "bf16", **case["run"]}
    models.M["case"] = lambda layers: transformers.AutoConfig.for_model(**shape)
    step = dict(seq=run["seq_length"], mbs=run["micro_batch_size"], ckpt=run["recompute"] == "full", attn=run["attention"])
    layers = shape["num_hidden_layers"]
    try:
        if kind == "fsdp":
            got = fsdp.run("case", layers, parallel["fully_sharded"], reshard=parallel["reshard_after_forward"],
                           reduce_dtype=parallel["reduce_dtype"], **step)
        else:
            got = tensor_parallel.run("case", layers, parallel["tensor_parallel"], **step)
    except Exception:
        print(shape["model_type"], run, parallel, traceback.format_exc(), file=sys.stderr, flush=True)
        continue
    names = lambda held: {kind.lower(): size for kind, size in held.items()}
    what = json.dumps([shape, run, parallel], sort_keys=True)
    print(json.dumps(dict(id=hashlib.sha256(what.encode()).hexdigest()[:10], kind=kind, model=shape["model_type"], config=shape, run=run,
                          parallel=parallel, measured=dict(parameters=got.get("params", got.get("local_params")),
                                                           after_forward_bytes=names(got["after_forward"]),
                                                           peak_bytes=names(got["peak"])))), flush=True)
