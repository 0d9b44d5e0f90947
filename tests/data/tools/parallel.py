"""Rows of FSDP and tensor parallelism for tests/data/measured/parallel.jsonl: asks PyTorch itself through the truth tools' `fsdp.run` and
`tensor_parallel.run`, which play one rank of a world that does not exist.

Usage: parallel.py DIRECTORY_OF_MEASURE_PY < cases.jsonl > rows.jsonl
A case is {"config": {"model_type": ..., ...}, "run": {...}, "parallel": {...}} with the keys of a row (a row is a case); what `run` leaves
out takes the default below. Needs torch, transformers and numpy.
"""
import hashlib, json, os, sys, traceback

# Checks of values, which a fake tensor does not have.
os.environ["TRANSFORMERS_DISABLE_TORCH_CHECK"] = "1"
sys.path.insert(0, sys.argv[1])
import fsdp, measure, models, tensor_parallel, torch, transformers

DEFAULT = dict(seq_length=512, micro_batch_size=1, attention="flash", kernels="eager", recompute="none", optimizer="adamw",
               optimizer_implementation="for_loop", gradient_accumulation_steps=1)

CAUSAL = fsdp.AutoModelForCausalLM


class Beside:
    """Builds the class that a file names, of an encoder beside a decoder, in the place of `AutoModelForCausalLM`. The truth tools give one
    tensor as tokens and labels; the encoder reads tokens of its own. Blocks of both sides are shared out, those of the encoder first."""

    def __init__(self, name, source):
        self.of, self.source = getattr(transformers, name), source

    def from_config(self, config, dtype):
        model = self.of._from_config(config, dtype=dtype)
        inside = getattr(model, "model", model)
        blocks = lambda side: getattr(side, "layers", None) or side.block
        inside.__class__ = type("Both", (type(inside),), dict(layers=property(lambda self: [*blocks(self.encoder), *blocks(self.decoder)])))
        if inside is model:
            model.__class__.model = property(lambda self: self)
        of_sound = model.main_input_name == "input_features"
        model.register_buffer("source", torch.zeros(*self.source, dtype=dtype if of_sound else torch.int64, device=measure.DEV))
        forward = model.forward
        model.forward = lambda input_ids, labels: forward(**{model.main_input_name: model.source}, labels=labels)
        return model


for line in sys.stdin:
    case = json.loads(line)
    shape, parallel = dict(case["config"]), case["parallel"]
    kind = "fsdp" if "fully_sharded" in parallel else "tp"
    run = {**DEFAULT, "precision": "fsdp_mixed" if kind == "fsdp" else "bf16", **case["run"]}
    keys = {key: value for key, value in shape.items() if key != "architectures"}
    models.M["case"] = lambda layers: transformers.AutoConfig.for_model(**keys)
    step = dict(seq=run["seq_length"], mbs=run["micro_batch_size"], ckpt=run["recompute"] == "full", attn=run["attention"])
    layers = shape.get("num_hidden_layers", 0)
    named = shape.get("architectures")
    source = (run["micro_batch_size"], run.get("source_length", run["seq_length"]))
    if named and "num_mel_bins" in shape:
        source = (source[0], shape["num_mel_bins"], 2 * source[1])
    fsdp.AutoModelForCausalLM = Beside(named[0], source) if named else CAUSAL
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
