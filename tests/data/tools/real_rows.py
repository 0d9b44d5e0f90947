"""Makes `cuda/h100.jsonl` of what `real_gpu.py` wrote.

    python tests/data/tools/real_rows.py real.jsonl > tests/data/cuda/h100.jsonl

A row keeps what the allocator and the driver counted and the median time of a step. Lists of
segments, process numbers and times of day are left out. PyTorch before 2.15 keeps cuBLAS's
workspaces, so every row says so.
"""
import json
import sys

DATE = "2026-11-26"


def device(lines):
    """The card and its driver, from the line that looked at them."""
    found = next(line["device"] for line in lines if line["do"] == "probe")
    return {
        "device": found["name"],
        "driver": found["driver"],
        "cuda": found["cuda"],
        "cudnn": found["cudnn"],
        "measured_on": DATE,
    }


def row(line, card):
    measured = {k: v for k, v in line["measured"].items() if k not in LEFT_OUT}
    timed = line.get("timed") or {}
    if "median_ms" in timed:
        measured["step_ms"] = timed["median_ms"]
        measured["host_ms"] = timed["host_ms"]
    driver = line["driver"]
    kept = {k: line[k] for k in ("id", "model", "config", "framework", "rank") if k in line}
    return {
        **kept,
        "kind": "cuda",
        "run": {**line["run"], "cublas_workspace_cache": True},
        "parallel": line["parallel"],
        **({"flags": line["flags"]} if "flags" in line else {}),
        "measured": measured,
        "driver": {
            "total": driver["context"]["total"],
            "outside_context": driver["outside_context"],
            "outside": driver["outside_measured"],
        },
        **({"limit": limit(line["limit"])} if line.get("limit") else {}),
        "versions": {**{k: v for k, v in line["versions"].items() if k != "device"}, **card},
    }


LEFT_OUT = ("segments", "live_at_end", "seconds", "driver_used", "driver_then")


def limit(stated):
    """How the memory of a row was limited: a fraction of the allocator's, or memory taken first."""
    return {k: v for k, v in stated.items() if k in ("how", "allowed", "ballast", "free")}


def main():
    lines = [json.loads(line) for line in open(sys.argv[1])]
    card = device(lines)
    for line in lines:
        if line["do"] in ("row", "trainer"):
            print(json.dumps(row(line, card)))


main()
