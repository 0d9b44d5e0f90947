"""Packs what tools/kinds.py makes for each task into tests/data/kinds.jsonl.zz: the default file of every kind without keys that are
about no shape, and how many parameters the library's class has. Arguments: folders, each called after its task, with FOLDER.jsonl of
counts beside it."""
import json, pathlib, re, sys, zlib

PLAIN = re.compile(
    r"_name_or_path|transformers_version|torch_dtype|dtype|use_cache|auto_map|.*_token_ids?|.*_token_index|initializer_range|.*_dropout|"
    r".*_pdrop|id2label|label2id|task_specific_params|torchscript|output_attentions|output_hidden_states|return_dict|problem_type|"
    r"chunk_size_feed_forward|pruned_heads|finetuning_task|tokenizer_class|prefix"
)


def shapes(value):
    return {key: shapes(inner) for key, inner in sorted(value.items()) if not PLAIN.fullmatch(key)} if isinstance(value, dict) else value


rows = []
for folder in map(pathlib.Path, sys.argv[1:]):
    counts = {row["file"]: row for row in map(json.loads, folder.with_suffix(".jsonl").read_text().splitlines())}
    for path in sorted(folder.glob("*.json")):
        count = counts.get(path.name, {})
        rows.append({"task": folder.name, "kind": path.stem, "text": count.get("text"), "whole": count.get("whole", count.get("text")), "config": shapes(json.loads(path.read_text()))})
packed = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
pathlib.Path("tests/data/kinds.jsonl.zz").write_bytes(zlib.compress(packed.encode(), 9))
print(len(rows), "kinds")
