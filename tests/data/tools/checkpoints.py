"""Headers of small GGUF and safetensors files as gguf-py and safetensors write them, from the library's own modules (needs torch,
transformers, safetensors and gguf; nothing is downloaded). Run it in the repository's root; it writes tests/data/checkpoints: files
without their tensors, and counts.jsonl, the numbers that the library's class has."""
import json, pathlib, shutil, tempfile, warnings; warnings.filterwarnings("ignore")
import gguf, numpy, torch, transformers
transformers.logging.set_verbosity_error()
from transformers import CONFIG_MAPPING, AutoModelForCausalLM

OUT = pathlib.Path("tests/data/checkpoints")
SHAPE = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2, vocab_size=96, max_position_embeddings=2048, pad_token_id=0, bos_token_id=1, eos_token_id=2)
# Architecture of llama.cpp: kind of transformers, and what its shape has beside the others'.
ARCHITECTURES = {
    "llama": ("llama", dict(head_dim=64)),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", dict(head_dim=64)),
    "qwen2moe": ("qwen2_moe", dict(num_experts=6, num_experts_per_tok=2, moe_intermediate_size=96, shared_expert_intermediate_size=160)),
    "qwen3moe": ("qwen3_moe", dict(head_dim=64, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=96)),
    "gemma": ("gemma", dict(head_dim=64)),
    "gemma2": ("gemma2", dict(head_dim=64)),
    "gemma3": ("gemma3_text", dict(head_dim=64)),
    "phi3": ("phi3", {}),
    "granite": ("granite", {}),
    "olmo2": ("olmo2", {}),
    "smollm3": ("smollm3", {}),
    "gpt-oss": ("gpt_oss", dict(head_dim=64, num_local_experts=4, num_experts_per_tok=2)),
}


def tensors(model, names):
    """Names and shapes of a GGUF file's tensors: experts' gates and inputs apart, as the converter writes them."""
    tied = model.config.tie_word_embeddings
    for name, parameter in model.named_parameters():
        if name == "lm_head.weight" and tied:
            continue
        shape, layer = tuple(parameter.shape), name.split(".")[2] if ".layers." in name else ""
        if name.endswith(("experts.gate_up_proj", "experts.gate_up_proj_bias")):
            half = (shape[0], shape[1] // 2, *shape[2:]) if model.config.model_type != "gpt_oss" else (shape[0], shape[-1] // 2, *shape[1:-1])
            ending = "bias" if name.endswith("bias") else "weight"
            yield f"blk.{layer}.ffn_gate_exps.{ending}", half
            yield f"blk.{layer}.ffn_up_exps.{ending}", half
        elif name.endswith(("experts.down_proj", "experts.down_proj_bias")):
            yield f"blk.{layer}.ffn_down_exps.{'bias' if name.endswith('bias') else 'weight'}", shape
        elif name.endswith(("mlp.gate.weight", "mlp.router.weight", "mlp.router.bias")):
            yield f"blk.{layer}.ffn_gate_inp.{name.rsplit('.', 1)[1]}", shape
        elif name.endswith("self_attn.sinks"):
            yield f"blk.{layer}.attn_sinks.weight", shape
        else:
            new = names.get_name(name, try_suffixes=(".weight", ".bias"))
            assert new, name
            yield new, shape


def as_gguf(name, kind, further):
    config = CONFIG_MAPPING[kind](**{**SHAPE, **further})
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)
    known = next(known for known, word in gguf.MODEL_ARCH_NAMES.items() if word == name)
    writer = gguf.GGUFWriter(str(OUT / f"{name}.gguf"), name)
    writer.add_name(f"small {name}")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    if getattr(config, "head_dim", None):
        writer.add_key_length(config.head_dim)
        writer.add_value_length(config.head_dim)
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    experts = further.get("num_experts", further.get("num_local_experts"))
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(2)
        writer.add_expert_feed_forward_length(further.get("moe_intermediate_size", config.intermediate_size))
    if "shared_expert_intermediate_size" in further:
        writer.add_expert_shared_feed_forward_length(further["shared_expert_intermediate_size"])
    writer.add_file_type(1)
    writer.add_token_list([f"t{token}".encode() for token in range(config.vocab_size)])
    for tensor, shape in tensors(model, gguf.get_tensor_name_map(known, config.num_hidden_layers)):
        writer.add_tensor_info(tensor, shape, numpy.float32 if len(shape) == 1 or "ffn_gate_inp" in tensor else numpy.float16, 0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    return {"file": f"{name}.gguf", "parameters": sum(parameter.numel() for parameter in model.parameters())}


def as_safetensors():
    """A model with a tied head in two files, of which the headers are kept."""
    config = CONFIG_MAPPING["qwen2"](**{**SHAPE, "tie_word_embeddings": True})
    model = AutoModelForCausalLM.from_config(config).to(torch.bfloat16)
    folder = OUT / "qwen2-sharded"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved, max_shard_size="3MB")
        for path in sorted(pathlib.Path(saved).iterdir()):
            content = path.read_bytes()
            if path.suffix == ".safetensors":
                content = content[: 8 + int.from_bytes(content[:8], "little")]
            if path.name != "generation_config.json":
                (folder / path.name).write_bytes(content)
    return {"file": folder.name, "parameters": sum(parameter.numel() for parameter in model.parameters())}


OUT.mkdir(exist_ok=True)
rows = [as_gguf(name, *of) for name, of in ARCHITECTURES.items()] + [as_safetensors()]
(OUT / "counts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
