"""Writes src/launch/shared/megatron_recipes.txt from the wheel of Megatron-Bridge, unpacked: what each recipe sets.

    pip download megatron-bridge==0.3.1 --no-deps && unzip megatron_bridge-*.whl -d FOLDER
    python tests/data/tools/megatron_recipes.py FOLDER > src/launch/shared/megatron_recipes.txt

The recipes' Python is read, none of it is run. A recipe whose model or degrees are no literals is left out. Of precision, only whether
gradients add up in fp32 is read, as `MixedPrecisionConfig` overwrites what DDP's settings say.
"""

import ast
import pathlib
import sys

UNKNOWN = object()

# `_pretrain_common`, `_sft_common` and `_peft_common` of recipes/common.py.
COMMON = {
    "_pretrain_common": ("pretrain", {"train.global_batch_size": 32, "train.micro_batch_size": 2, "dataset.seq_length": 4096,
                                      "ddp.overlap_grad_reduce": True}),
    "_sft_common": ("sft", {"train.global_batch_size": 128, "train.micro_batch_size": 1, "dataset.seq_length": 2048}),
    "_peft_common": ("peft", {"train.global_batch_size": 128, "train.micro_batch_size": 1, "dataset.seq_length": 2048,
                              "peft.dim": 32, "peft.alpha": 32}),
}


def constant(node, names):
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, UNKNOWN)
    if isinstance(node, (ast.List, ast.Tuple)):
        values = [constant(one, names) for one in node.elts]
        return UNKNOWN if UNKNOWN in values else values
    return UNKNOWN


def keyword(call, name, names):
    found = [constant(one.value, names) for one in call.keywords if one.arg == name]
    return found[0] if found else None


def assigned(target, value, names, got):
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func)
        if target == "cfg" and called in COMMON:
            got["kind"], common = COMMON[called]
            got.update(common)
        if target == "cfg.model":
            for call in (one for one in ast.walk(value) if isinstance(one, ast.Call)):
                if "from_hf_pretrained" in ast.unparse(call.func):
                    got["model"] = constant((call.args or [call.keywords[0].value])[0], names)
        if called == "MixedPrecisionConfig":
            got["fp32"] = keyword(value, "grad_reduce_in_fp32", names) is not False
            if keyword(value, "fp8", names):
                got["beyond"] = got.get("beyond", []) + ["fp8"]
        if called == "CommOverlapConfig" and keyword(value, "tp_comm_overlap", names):
            got["beyond"] = got.get("beyond", []) + ["tp_comm_overlap"]
        return
    known = constant(value, names)
    if target.startswith("peft_cfg."):
        got["peft." + target.removeprefix("peft_cfg.")] = known
    elif target.startswith("cfg."):
        got[target.removeprefix("cfg.")] = known
    elif known is not UNKNOWN:
        names[target] = known


def walk(body, names, got):
    for step in body:
        if isinstance(step, ast.Assign) and len(step.targets) == 1:
            assigned(ast.unparse(step.targets[0]), step.value, names, got)
        elif isinstance(step, ast.If) and "peft_scheme" in ast.unparse(step.test) and "lora" in ast.unparse(step.test):
            walk(step.body, names, got)


def beyond(got):
    found = got.get("beyond", [])
    if "fp8" in str(got.get("mixed_precision")):
        found.append("fp8")
    if got.get("model.pipeline_model_parallel_layout") is not None:
        found.append("pipeline_model_parallel_layout")
    for key in ("optimizer.use_precision_aware_optimizer", "model.moe_shared_expert_overlap", "model.fine_grained_activation_offloading"):
        if got.get(key) is True:
            found.append(key.split(".")[1])
    if got.get("model.mtp_num_layers"):
        found.append("mtp_num_layers")
    return ",".join(sorted(set(found))) or "-"


def row(name, got):
    def number(key, otherwise=1):
        value = got.get(key, otherwise)
        return otherwise if value is None else value

    loss = got.get("model.cross_entropy_fusion_impl", "native") if got.get("model.cross_entropy_loss_fusion", True) else "none"
    cells = [name, got["model"], got["kind"]]
    cells += [number(f"model.{degree}_parallel_size") for degree in ("tensor_model", "pipeline_model")]
    cells += [number("model.virtual_pipeline_model_parallel_size", 0), number("model.context_parallel_size")]
    cells += [number("model.expert_model_parallel_size"), number("model.expert_tensor_parallel_size", 0)]
    cells += [int(got.get("model.sequence_parallel") is True), number("model.seq_length", got.get("dataset.seq_length"))]
    cells += [number("train.global_batch_size"), number("train.micro_batch_size")]
    cells += [got.get("model.recompute_granularity") or "none", got.get("model.recompute_method") or "-"]
    cells += [number("model.recompute_num_layers", 0), ",".join(got.get("model.recompute_modules") or []) or "-", loss]
    cells += [int(got.get("ddp.overlap_grad_reduce") is True), int(got.get("fp32", True)), number("peft.dim", 0), number("peft.alpha", 0)]
    cells += [",".join(got.get("peft.target_modules") or []) or "-", got.get("model.moe_token_dispatcher_type") or "-", beyond(got)]
    return None if UNKNOWN in cells else " ".join(str(cell) for cell in cells)


def main():
    root = pathlib.Path(sys.argv[1]) / "megatron/bridge/recipes"
    for file in sorted(root.rglob("*.py")):
        tree = ast.parse(file.read_text())
        outer = {}
        walk([step for step in tree.body if isinstance(step, ast.Assign)], outer, {})
        for function in tree.body:
            if not isinstance(function, ast.FunctionDef) or not function.name.endswith("_config") or function.name.startswith("_"):
                continue
            if len(function.args.args) > len(function.args.defaults):
                # It asks for an argument that a command cannot give.
                continue
            names, got = dict(outer), {}
            walk(function.body, names, got)
            line = row(function.name, got) if got.get("model") and got.get("kind") else None
            if line:
                print(line)


main()
