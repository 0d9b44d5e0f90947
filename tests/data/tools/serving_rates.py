"""Fits the few constants of Headroom's serving kernels to the operator measurements of the PyPI package aiconfigurator-core (Apache-2.0).

    pip install aiconfigurator-core==0.12.0 --no-deps && pip install pandas pyarrow scipy
    python tests/data/tools/serving_rates.py > src/hardware/kernels/measured.rs && rustfmt --edition 2024 src/hardware/kernels/measured.rs
    python tests/data/tools/serving_rates.py own > src/hardware/kernels/own.rs && rustfmt --edition 2024 src/hardware/kernels/own.rs

Of every shape the quickest kernel of all engines counts, what the card can do; with `own` those of each engine. Errors are of the
logarithm, and every number of tokens weighs as much as any other. No end-to-end measurement is read.
"""

import glob
import os
import sys

import aiconfigurator_core
import numpy as np
import pandas as pd
from serving_fit import even, fit, roofline

DATA = os.path.join(os.path.dirname(aiconfigurator_core.__file__), "systems", "data")
# Bytes of a weight and of an activation as the product reads them.
FORMATS = {
    "bfloat16": (2.0, 2.0),
    "fp8": (1.0, 1.0),
    "fp8_static": (1.0, 1.0),
    "fp8_block": (1.0, 1.0),
    "nvfp4": (0.5625, 0.5625),
    "sq": (1.0, 1.0),
    "int8_wo": (1.0, 2.0),
    "int4_wo": (0.53, 2.0),
    "w4a16_mxfp4": (0.53, 2.0),
    "w4a8_mxfp4_mxfp8": (0.53, 1.0),
}

# Weights alone in 4 bits: measured of int4 on most cards, of gpt-oss's format on these.
ALONE = {"b200_sxm": "w4a16_mxfp4", "b60": "w4a16_mxfp4"}
# Written to the table: name, the link between cards of one node in GB/s (None: PCIe), and the board's power in watts, or TFLOP/s for
# each watt of the PCIe card, which power limits more: 252.9 in bf16 with 300 W on A100 (stas00/ml-engineering), 458.03 in fp16 with 350
# on H100 (zzc0721/torch-performance-test-data issue 95). None: not known.
WRITTEN = {
    "a100_sxm": ("A100", 300, 252.9 / 300),
    "h100_sxm": ("H100", 450, 458.03 / 350),
    "b200_sxm": ("B200", 900, 1000),
    "l40s": ("L40S", None, 350),
    "rtx_pro_6000_server": ("RTX_PRO_6000", None, 600),
    "b60": ("ARC_PRO_B60", None, None),
}
# Second-level cache, bytes, datasheet bandwidth and 16-bit peak: a loop that measures one small matrix reads it from the cache, where no
# layer of a model finds its weights. Such rows are left out, and so are those above the datasheet's bandwidth.
CARDS = {
    "a100_sxm": (40e6, 2.039e12, 312e12),
    "h100_sxm": (50e6, 3.35e12, 989e12),
    "h200_sxm": (50e6, 4.8e12, 989e12),
    "b200_sxm": (126e6, 8e12, 2250e12),
    "b300_sxm": (126e6, 8e12, 2250e12),
    "gb200": (126e6, 8e12, 2500e12),
    "gb300": (126e6, 8e12, 2500e12),
    "l40s": (96e6, 0.864e12, 362e12),
    "rtx_pro_6000_server": (128e6, 1.597e12, 503.8e12),
    "b60": (18e6, 0.456e12, 98e12),
}
SMALL = 4e6
LEAST_ROWS, LEAST_ROWS_WIDENED = 64, 16
# In the order of `Steps::column`; cards of which more than one engine was measured.
ENGINES = ("trtllm", "sglang", "vllm")
OWN = [system for system in WRITTEN if system != "b60"]


def cold(system, bytes_):
    return (bytes_ < SMALL) | (bytes_ > 1.5 * CARDS[system][0])


# The engine that is read alone; None: all.
alone = None


def tables(system, op, name):
    found = {}
    for path in sorted(glob.glob(f"{DATA}/{system}/{op}/*/*/{name}.parquet")):
        engine, version = path.split(os.sep)[-3:-1]
        if alone in (None, engine):
            found.setdefault(engine, []).append((version, path))
    frames = [pd.read_parquet(path) for versions in found.values() for _, path in versions]
    return pd.concat(frames) if frames else pd.DataFrame()


def limits(system, dtype):
    _, bandwidth, rate = CARDS[system]
    times = {"bfloat16": 1, "int8_wo": 1, "int4_wo": 1, "w4a16_mxfp4": 1, "nvfp4": 4}.get(dtype, 2)
    return [0.0, np.log(bandwidth), np.log(rate * times), np.log(8.0)]


def products(system, out):
    table = tables(system, "gemm", "gemm_perf")
    if table.empty:
        return
    for dtype, part in table.groupby("gemm_dtype"):
        if dtype not in FORMATS:
            continue
        part = part[(part.n >= 768) & (part.k >= 512) & (part.n * part.k >= 1024 * 1024) & (part.m <= 16384)]
        part = part.groupby(["m", "n", "k"], as_index=False).latency.min()
        if len(part) < 200:
            continue
        weight, activation = FORMATS[dtype]
        part = part[(part.m >= 256) | cold(system, part.n * part.k * weight)]
        m, n, k = (part[c].to_numpy(float) for c in "mnk")
        bytes_ = n * k * weight + m * k * activation + 2 * m * n
        # Tiles have so many rows, as in `estimator/time/serving/work.rs`.
        flops = 2 * np.maximum(m, LEAST_ROWS_WIDENED if dtype.endswith("_wo") else LEAST_ROWS) * n * k
        model = lambda x: roofline(x, bytes_, flops)
        starts = [(4e-6, bw, r, 2.0) for bw in (8e11, 3e12) for r in (2e14, 1e15)]
        x, error = fit(model, part.latency.to_numpy() * 1e-3, even(m), starts, limits(system, dtype))
        out[f"product {dtype}"] = {"start": x[0], "bandwidth": x[1], "rate": x[2], "power": x[3], "error": error, "rows": len(part)}


def decode(system, out):
    table = tables(system, "attention", "generation_attention_perf")
    if table.empty:
        return
    if "window_size" in table:
        table = table[table.window_size == 0]
    for cache, part in table.groupby("kv_cache_dtype"):
        width = {"bfloat16": 2.0, "float16": 2.0, "fp8": 1.0}.get(cache)
        if width is None:
            continue
        part = part[(part.head_dim == 128) & (part.num_heads <= 16 * part.num_key_value_heads.where(part.num_key_value_heads > 0, part.num_heads))]
        keys = ["batch_size", "num_heads", "num_key_value_heads", "head_dim", "step"]
        part = part.groupby(keys, as_index=False).latency.min()
        part = part[part.batch_size * part.step >= 64]
        b, h, g, d, s = (part[c].to_numpy(float) for c in keys)
        g = np.where(g == 0, h, g)
        bytes_ = 2 * b * (s + 1) * g * d * width
        flops = 4 * b * (s + 1) * h * d
        seconds = part.latency.to_numpy() * 1e-3
        keep = cold(system, bytes_) & (bytes_ / seconds < CARDS[system][1])
        bytes_, flops, part = bytes_[keep], flops[keep], part[keep]
        if keep.sum() < 100:
            continue
        model = lambda x: roofline(x, bytes_, flops)
        x, error = fit(model, part.latency.to_numpy() * 1e-3, even(np.round(np.log2(bytes_))), [(5e-6, bw, 1e14, 2.0) for bw in (8e11, 3e12)], limits(system, "bfloat16"))
        out[f"decode {cache}"] = {"start": x[0], "bandwidth": x[1], "rate": x[2], "power": x[3], "error": error, "rows": len(part)}


def prefill(system, out):
    table = tables(system, "attention", "context_attention_perf")
    if table.empty:
        return
    if "window_size" in table:
        table = table[table.window_size == 0]
    if "step" in table:
        table = table[table.step == 0]
    for cache, part in table.groupby("kv_cache_dtype"):
        part = part[(part.head_dim == 128) & (part.isl >= 64)]
        keys = ["batch_size", "num_heads", "isl"]
        part = part.groupby(keys, as_index=False).latency.min()
        if len(part) < 50:
            continue
        b, h, s = (part[c].to_numpy(float) for c in keys)
        flops = 2 * b * h * 128 * s * s
        model = lambda x: x[0] + flops / x[1] * (1 + x[2] / s)
        x, error = fit(model, part.latency.to_numpy() * 1e-3, even(s), [(1e-5, r, 500.0) for r in (1e14, 4e14)])
        out[f"prefill {cache}"] = {"start": x[0], "rate": x[1], "ramp": x[2], "error": error, "rows": len(part)}


def sums(system, out):
    own = tables(system, "comm", "custom_allreduce_perf")
    nccl = tables(system, "comm", "nccl_perf")
    columns = ["num_gpus", "message_size", "latency"]
    if nccl.empty or own.empty:
        return
    nccl = nccl[(nccl.op_name == "all_reduce") & (nccl.nccl_dtype == "half")][columns]
    own = pd.concat([own[~own.kernel_source.astype(str).str.contains("eager")][columns], nccl])
    for name, table in (("sum", own), ("nccl", nccl)):
        # The column counts numbers of 16 bits: as bytes, two H100 would reach 160 GB/s, of which NCCL reaches twice as many.
        table = table[table.latency > 0].groupby(["num_gpus", "message_size"], as_index=False).latency.min()
        for gpus, part in table.groupby("num_gpus"):
            size = 2.0 * part.message_size.to_numpy(float)
            keep = size >= 4096
            size, latency = size[keep], part.latency.to_numpy()[keep] * 1e-3
            if gpus not in (2, 4, 8) or len(size) < 5:
                continue
            starts = [(4e-6, bw, root) for bw in (2e10, 4e11) for root in (1e-9, 1e-8)]
            x, error = fit(lambda x: x[0] + np.sqrt(size) * x[2] + size / x[1], latency, np.ones(len(size)), starts)
            out[f"{name} {gpus}"] = {"start": x[0], "bandwidth": x[1], "root": x[2], "error": error, "rows": len(part)}


def experts(system, out):
    table = tables(system, "moe", "moe_perf")
    if table.empty:
        return
    for dtype, part in table.groupby("moe_dtype"):
        if dtype not in FORMATS:
            continue
        part = part[(part.moe_ep_size == 1) & (part.num_experts >= 8) & (part.inter_size / part.moe_tp_size >= 128)]
        part = part[part.distribution.astype(str).str.startswith("power_law") | (part.distribution == "balanced")]
        keys = ["num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size"]
        part = part.groupby(keys, as_index=False).latency.min()
        if len(part) < 50:
            continue
        m, h, i, top, e, t = (part[c].to_numpy(float) for c in keys)
        weight, activation = FORMATS[dtype]
        touched = e * (1 - (1 - top / e) ** m)
        bytes_ = touched * 3 * h * i / t * weight + m * top * (2 * h + 3 * i / t) * 2
        flops = 6 * m * top * h * i / t
        model = lambda x: roofline(x, bytes_, flops)
        x, error = fit(model, part.latency.to_numpy() * 1e-3, even(m), [(2e-5, bw, r, 1.5) for bw in (1e12, 3e12) for r in (2e14, 1e15)], limits(system, dtype))
        out[f"experts {dtype}"] = {"start": x[0], "bandwidth": x[1], "rate": x[2], "power": x[3], "error": error, "rows": len(part)}


HEAD = """//! Times of single operations on six accelerators: written by `tests/data/tools/serving_rates.py`
//! from the operator measurements of PyPI aiconfigurator-core 0.12.0 (Apache-2.0), never from a
//! served request. Shares are of the datasheet's bandwidth and dense peak.

use super::{Ggml, Kernels, fitted, own, ramp, roofline, sum};
"""


def law(row, system, times=1):
    if row is None:
        return "None"
    _, bandwidth, rate = CARDS[system]
    values = max(0.5, row["start"] * 1e6), min(1, row["bandwidth"] / bandwidth), min(1, row["rate"] / rate / times), row["power"]
    return "Some(roofline(%.2f, %.3f, %.3f, %.2f))" % values


def ramp(row, system):
    if row is None:
        return "None"
    return "Some(ramp(%.1f, %.3f, %.0f.0))" % (row["start"] * 1e6, row["rate"] / CARDS[system][2], row["ramp"])


def of_ranks(found, name):
    rows = [found.get(f"{name} {gpus}") for gpus in (2, 4, 8)]
    if None in rows:
        return "None"
    return "Some([%s])" % ", ".join(
        "sum(%.2f, %.1f, %.3f)" % (row["start"] * 1e6, row["bandwidth"] / 1e9, row["root"] * 1e9) for row in rows
    )


def per_watt(system, found, watts):
    if watts is None:
        return "None"
    each = watts if isinstance(watts, float) else found["product bfloat16"]["rate"] / 1e12 / watts
    return "Some(fitted(%.3f))" % each


def written(system, found):
    name, link, watts = WRITTEN[system]
    of = lambda kind: [law(found.get(f"{kind} {form}"), system, times) for form, times in (("bfloat16", 1), ("fp8", 2), ("fp8_block", 2), ("nvfp4", 4))]
    narrow_weights = law(found.get("experts " + ALONE.get(system, "int4_wo")), system)
    lines = [
        f"/// Fits to measurements of {name.replace('_', ' ')}.",
        f"pub const {name}: Kernels = Kernels {{",
        f"    products: [{', '.join(of('product'))}],",
        f"    alone: [{', '.join(law(found.get(f'product {form}'), system) for form in ('int8_wo', 'int4_wo'))}],",
        f"    experts: [{', '.join(of('experts'))}, {narrow_weights}],",
        f"    decode: [{', '.join(law(found.get('decode ' + cache), system) for cache in ('bfloat16', 'fp8'))}],",
        f"    prefill: [{', '.join(ramp(found.get('prefill ' + cache), system) for cache in ('bfloat16', 'fp8'))}],",
        f"    sums: {of_ranks(found, 'sum')},",
        # NCCL on these L40S went through the host, so that it is no card's rate.
        f"    nccl: {'None' if name == 'L40S' else of_ranks(found, 'nccl')},",
        f"    link: {'None' if link is None else f'Some({link}e9)'},",
        f"    ggml: &Ggml::{ {'a100_sxm': 'A100', 'l40s': 'ADA'}.get(system, 'CUDA') },",
        f"    own: {f'Some(&own::{name})' if system in OWN else 'None'},",
        f"    per_watt: {per_watt(system, found, watts)},",
        "    is_measured: true,",
        "};",
    ]
    return "\n".join(lines)


# Products are not told apart by engine: 8-bit ones of one engine hold the kernel that narrows their input, and blocks in 8 bits fell back
# to a slow kernel in another's measurements.
OWN_HEAD = """//! Times of the attention that engines run: written by `tests/data/tools/serving_rates.py` from the
//! same measurements as `measured`, each engine's apart, in the order of their columns.
#![allow(clippy::approx_constant, reason = "microseconds that happen to be near a constant")]

use super::{Attention, ramp, roofline};
"""


def written_own(system, found):
    name, *_ = WRITTEN[system]
    lines = [f"/// Fits to measurements of {name.replace('_', ' ')}.", f"pub static {name}: [Attention; 3] = ["]
    for one in found:
        lines += [
            "    Attention {",
            f"        decode: [{', '.join(law(one.get('decode ' + cache), system) for cache in ('bfloat16', 'fp8'))}],",
            f"        prefill: [{', '.join(ramp(one.get('prefill ' + cache), system) for cache in ('bfloat16', 'fp8'))}],",
            "    },",
        ]
    return "\n".join(lines + ["];"])


def own():
    global alone
    parts = [OWN_HEAD]
    for system in OWN:
        found = []
        for alone in ENGINES:
            one = {}
            for of in (decode, prefill):
                of(system, one)
            found.append(one)
        parts.append(written_own(system, found))
    print("\n\n".join(parts))


def main():
    parts = [HEAD]
    for system in WRITTEN:
        found = {}
        for of in (products, decode, prefill, sums, experts):
            of(system, found)
        for key, row in found.items():
            values = " ".join(f"{name} {value:.4g}" for name, value in row.items())
            print(system, key, values, file=sys.stderr, flush=True)
        parts.append(written(system, found))
    print("\n\n".join(parts))


own() if sys.argv[1:] == ["own"] else main()
