"""How fast a real GPU carries out single operations: rows of JSON, one for each operation and size.

    python tests/data/tools/micro_rates.py OUT.jsonl

Needs an NVIDIA GPU and torch. Every figure is the median of several timings with CUDA events around a
captured graph, so that no time of launching is in it, unless the row says `launch`. Operands rotate
among so many copies that the cache of the chip holds none of them. Numbers are random, not zeros.

    product    [m, k] times [k, n] in a format: `seconds`
    attention  causal flash attention, forward or forward and backward, or one query against a cache
    stream     an operation that is bound by memory: `bytes` are those it reads and writes
    launch     the time between the starts of tiny operations, from Python and in a graph
    sustained  one large product over and over for some seconds, where power limits the clock
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

CACHE = 200 * 2**20
GPU = "cuda"


def timed(run, copies=1, least=0.02, tries=5):
    """Seconds of one call of `run(i)`, in a graph of as many calls as take `least` seconds."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for i in range(max(2, copies)):
            run(i % copies)
    torch.cuda.synchronize()
    start = time.perf_counter()
    run(0)
    torch.cuda.synchronize()
    once = max(time.perf_counter() - start, 3e-6)
    calls = max(copies, min(300, int(least / once) + 1))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(calls):
            run(i % copies)
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(tries):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record()
        graph.replay()
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) / 1e3 / calls)
    del graph
    return statistics.median(times)


def products(write):
    shapes = [(4096, 4096), (6144, 4096), (28672, 4096), (4096, 14336), (8192, 8192), (57344, 8192),
              (8192, 28672), (1280, 8192), (7168, 8192), (8192, 3584), (128256, 4096), (1536, 7168)]
    rows = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
    formats = ["bf16", "fp16", "fp8", "tf32", "fp32", "int8"]
    for format in formats:
        for n, k in shapes:
            if format in ("tf32", "fp32", "fp16", "int8") and (n, k) not in ((4096, 4096), (28672, 4096), (8192, 8192)):
                continue
            for m in rows:
                if format == "fp32" and m * n * k > 2**39 or m * n > 2**31:
                    continue
                try:
                    seconds = product(format, m, n, k)
                except Exception as error:  # a kernel refuses the shape
                    write({"kind": "product", "format": format, "m": m, "n": n, "k": k, "error": str(error)[:120]})
                    torch.cuda.synchronize()
                    continue
                write({"kind": "product", "format": format, "m": m, "n": n, "k": k, "seconds": seconds})
            torch.cuda.empty_cache()


def product(format, m, n, k):
    torch.backends.cuda.matmul.allow_tf32 = format == "tf32"
    width = {"bf16": 2, "fp16": 2, "fp8": 1, "tf32": 4, "fp32": 4, "int8": 1}[format]
    copies = max(1, min(16, CACHE // (width * (n * k + m * k)) + 1))
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(format, torch.float32)
    if format == "int8":
        x = [torch.randint(-100, 100, (m, k), device=GPU, dtype=torch.int8) for _ in range(copies)]
        w = [torch.randint(-100, 100, (n, k), device=GPU, dtype=torch.int8) for _ in range(copies)]
        return timed(lambda i: torch._int_mm(x[i], w[i].t()), copies)
    x = [torch.randn(m, k, device=GPU, dtype=dtype) for _ in range(copies)]
    w = [torch.randn(n, k, device=GPU, dtype=dtype) for _ in range(copies)]
    if format == "fp8":
        one = torch.ones((), device=GPU)
        x = [v.to(torch.float8_e4m3fn) for v in x]
        w = [v.to(torch.float8_e4m3fn) for v in w]
        return timed(lambda i: torch._scaled_mm(x[i], w[i].t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True), copies)
    return timed(lambda i: F.linear(x[i], w[i]), copies)


def attentions(write):
    for heads, keys, width in ((32, 8, 128), (64, 8, 128), (32, 32, 64), (8, 1, 128), (16, 16, 256)):
        for length in (512, 1024, 2048, 4096, 8192, 16384, 32768):
            batch = max(1, 8192 // length)
            form = lambda n: torch.randn(batch, n, length, width, device=GPU, dtype=torch.bfloat16)
            for backend in (SDPBackend.FLASH_ATTENTION, SDPBackend.CUDNN_ATTENTION):
                row = {"kind": "attention", "backend": backend.name.split("_")[0].lower(), "batch": batch,
                       "heads": heads, "key_heads": keys, "width": width, "length": length, "format": "bf16"}
                try:
                    q, k, v = form(heads), form(heads), form(heads)
                    with sdpa_kernel(backend):
                        forward = timed(lambda i: F.scaled_dot_product_attention(q, k, v, is_causal=True))
                        for t in (q, k, v):
                            t.requires_grad_()
                        g = torch.randn_like(q)

                        def both(i):
                            q.grad = k.grad = v.grad = None
                            F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(g)
                        write(row | {"seconds": forward, "seconds_with_backward": timed(both)})
                except Exception as error:
                    write(row | {"error": str(error)[:120]})
                    torch.cuda.synchronize()
        torch.cuda.empty_cache()
    for batch in (1, 4, 16, 64):
        for length in (512, 2048, 8192, 32768):
            if batch * length > 2**19:
                continue
            q = torch.randn(batch, 32, 1, 128, device=GPU, dtype=torch.bfloat16)
            copies = max(1, min(16, CACHE // (4096 * batch * length) + 1))
            kv = [[torch.randn(batch, 8, length, 128, device=GPU, dtype=torch.bfloat16) for _ in range(2)] for _ in range(copies)]
            row = {"kind": "decode_attention", "batch": batch, "heads": 32, "key_heads": 8, "width": 128, "length": length, "format": "bf16"}
            try:
                with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                    seconds = timed(lambda i: F.scaled_dot_product_attention(q, *kv[i], enable_gqa=True), copies)
                write(row | {"seconds": seconds, "bytes": 4096 * batch * length})
            except Exception as error:
                write(row | {"error": str(error)[:120]})
                torch.cuda.synchronize()
            del kv
            torch.cuda.empty_cache()


def streams(write):
    for power in range(12, 33, 1):
        count = 2**power // 2
        copies = max(1, min(32, CACHE // 2**power + 1))
        make = lambda: [torch.randn(count, device=GPU, dtype=torch.bfloat16) for _ in range(copies)]
        a, out = make(), make()
        for name, run, bytes in (
            ("copy", lambda i: out[i].copy_(a[i]), 4 * count),
            ("add", lambda i: torch.add(a[i], out[i], out=out[i]), 6 * count),
            ("silu", lambda i: F.silu(a[i]), 4 * count),
        ):
            write({"kind": "stream", "operation": name, "bytes": bytes, "seconds": timed(run, copies)})
        if power >= 16:
            rows = count // 4096
            if rows:
                x = [t.view(rows, 4096) for t in a]
                for name, run, bytes in (
                    ("softmax in fp32", lambda i: torch.softmax(x[i], -1, dtype=torch.float32), 6 * count),
                    ("to fp32", lambda i: x[i].float(), 6 * count),
                    ("mean of squares", lambda i: x[i].pow(2).mean(-1), 6 * count),
                    ("layer norm", lambda i: F.layer_norm(x[i], (4096,)), 4 * count),
                    ("rms norm", lambda i: F.rms_norm(x[i], (4096,)), 4 * count),
                ):
                    if power > 30:
                        continue
                    write({"kind": "stream", "operation": name, "bytes": bytes, "seconds": timed(run, copies)})
        del a, out
        torch.cuda.empty_cache()


def launches(write):
    x = torch.randn(64, device=GPU)
    p, q = torch.randn(16, 64, device=GPU), torch.randn(64, 64, device=GPU)
    for name, run in (("add", lambda: x + 1.0), ("linear", lambda: F.linear(p, q)), ("rms norm", lambda: F.rms_norm(p, (64,)))):
        for _ in range(100):
            run()
        torch.cuda.synchronize()
        times = []
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(2000):
                run()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) / 2000)
        write({"kind": "launch", "operation": name, "from": "python", "seconds": statistics.median(times)})
        write({"kind": "launch", "operation": name, "from": "graph", "seconds": timed(lambda i: run())})


def sustained(write):
    for format in ("bf16", "fp8"):
        n = 8192
        x, w = (torch.randn(n, n, device=GPU, dtype=torch.bfloat16) for _ in range(2))
        run = lambda: F.linear(x, w)
        if format == "fp8":
            one, x8, w8 = torch.ones((), device=GPU), x.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
            run = lambda: torch._scaled_mm(x8, w8.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
        run()
        torch.cuda.synchronize()
        start, calls = time.perf_counter(), 0
        while time.perf_counter() - start < 8:
            for _ in range(100):
                run()
            torch.cuda.synchronize()
            calls += 100
        write({"kind": "sustained", "format": format, "m": n, "n": n, "k": n, "seconds": (time.perf_counter() - start) / calls})


def main(out):
    device = torch.cuda.get_device_properties(0)
    with open(out, "w", encoding="utf-8") as file:
        def write(row):
            file.write(json.dumps(row) + "\n")
            file.flush()
        write({"kind": "device", "name": device.name, "torch": torch.__version__, "cuda": torch.version.cuda,
               "multiprocessors": device.multi_processor_count, "memory": device.total_memory, "l2": device.L2_cache_size})
        for part in (launches, products, streams, attentions, sustained):
            start = time.perf_counter()
            try:
                part(write)
            except Exception as error:
                write({"kind": "failed", "part": part.__name__, "error": str(error)[:300]})
            print(part.__name__, round(time.perf_counter() - start, 1), "s", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
