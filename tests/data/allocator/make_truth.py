"""Random sequences of allocations on PyTorch's own caching allocator, for settings that the twelve traces do not have.
It needs the pretended GPU (shared/truth/tools/pretend_gpu/build.sh):  python make_truth.py FOLDER_OF_THE_SHIM | gzip -9 > allocator.jsonl.gz   (40 s)
A number after the folder multiplies the sequences. A run of 708 sequences of 800 events (2026-11-25) came out exactly.
A row: conf, total, outside, events, and after the whole sequence the real allocator's readings, driver calls and segments.
Events: [0, tensor, bytes, stream] allocation, [1, tensor] release, [2] empty_cache, [3, conf] other settings.
`oom`: [event, the numbers of the message as they were printed]."""
import json, os, random, re, sys
SO = os.path.join(sys.argv[1], "pretend_gpu.so")
MIB, OUTSIDE = 1 << 20, 512 << 20
CASES = [  # settings, GiB of the device, sequences
    ("", 80, 2), ("", 3, 3), ("expandable_segments:True", 80, 2), ("expandable_segments:True", 3, 4),
    ("max_split_size_mb:20", 3, 2), ("max_split_size_mb:64", 3, 2), ("max_split_size_mb:128", 3, 2), ("max_split_size_mb:256", 80, 1),
    ("max_split_size_mb:64,max_non_split_rounding_mb:100", 3, 2),
    ("max_split_size_mb:64,expandable_segments:True", 3, 2),
    ("roundup_power2_divisions:4", 3, 2), ("roundup_power2_divisions:16,expandable_segments:True", 3, 1),
    ("roundup_power2_divisions:[1:2,4:8,64:16,>:4]", 3, 2), ("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]", 80, 1),
    ("roundup_power2_divisions:[>:4]", 80, 1), ("roundup_power2_divisions:[8:4,32:0,>:2]", 80, 1),
    ("garbage_collection_threshold:0.6,per_process_memory_fraction:0.7", 4, 3),
    ("garbage_collection_threshold:0.3,per_process_memory_fraction:0.9,max_split_size_mb:100", 4, 2),
    ("garbage_collection_threshold:0.5", 3, 1), ("garbage_collection_threshold:0.5,per_process_memory_fraction:0.8,expandable_segments:True", 4, 1),
    ("per_process_memory_fraction:0.5", 6, 2), ("per_process_memory_fraction:0.5,expandable_segments:True", 6, 2),
    ("per_process_memory_fraction:0.6,throw_on_cudamalloc_oom:True", 4, 2),
    ("per_process_memory_fraction:0.6,throw_on_cudamalloc_oom:True,expandable_segments:True", 4, 2),
    ("throw_on_cudamalloc_oom:True", 3, 2), ("throw_on_cudamalloc_oom:True,expandable_segments:True", 3, 2),
    ("large_segment_size_mb:64", 3, 2), ("large_segment_size_mb:12", 3, 1), ("large_segment_size_mb:40,expandable_segments:True", 3, 2),
    ("large_segment_size_mb:32,max_split_size_mb:48", 3, 1),
    ("toggle", 3, 4),
]
TOGGLES = ["expandable_segments:True", "expandable_segments:False", "expandable_segments:True,roundup_power2_divisions:4", "expandable_segments:False,roundup_power2_divisions:8"]

def sizes(r):
    """Like a model: a few sizes come again and again, others are odd."""
    often = [int(2 ** r.uniform(4, 20)) for _ in range(4)] + [int(2 ** r.uniform(20, 23.3)) for _ in range(4)] + [int(2 ** r.uniform(23.3, 29)) for _ in range(6)]
    edges = [1, 511, 512, 513, MIB - 1, MIB, MIB + 1, 10 * MIB - 512, 10 * MIB - 511, 10 * MIB, 10 * MIB + 1, 19 * MIB, 20 * MIB, 64 * MIB, 2 * MIB]
    while True:
        k = r.random()
        yield r.choice(often) if k < 0.7 else r.choice(edges) if k < 0.8 else int(2 ** r.uniform(0, 20)) if k < 0.88 else int(2 ** r.uniform(20, 29.5))

def sequence(seed, conf, n=400):
    r = random.Random(seed); size = sizes(r); live, events, tensor = [], [], 0
    target = r.randint(10, 60); streams = [0] * 8 + ([1, 2] if seed % 2 else [])
    for i in range(n):
        if r.random() < 0.004: events.append([2]); continue
        if conf == "toggle" and r.random() < 0.02: events.append([3, r.choice(TOGGLES)]); continue
        if r.random() < 0.02: target = r.randint(2, 60)
        if live and r.random() < len(live) / (2 * target): events.append([1, live.pop(r.randrange(len(live)) if r.random() < 0.6 else -1)])
        else: events.append([0, tensor, next(size), r.choice(streams)]); live.append(tensor); tensor += 1
    return events

if "CASE" not in os.environ:
    import subprocess
    for i, (conf, gib, count) in enumerate(CASES):
        env = dict(os.environ, CASE=str(i), LD_PRELOAD=SO + ":" + SO.replace("pretend_gpu.so", "pretend_nvml.so"), PRETEND_GPU_ON="1", OMP_NUM_THREADS="1",
                   CUDA_MODULE_LOADING="LAZY", PRETEND_GPU_TOTAL=str(gib << 30), PRETEND_GPU_CONTEXT=str(OUTSIDE))
        if conf and conf != "toggle": env["PYTORCH_ALLOC_CONF"] = conf
        if len(sys.argv) > 2: env['TIMES'] = sys.argv[2]
        subprocess.run([sys.executable, *sys.argv], env=env, stdout=sys.stdout)
        sys.stdout.flush()
    sys.exit()

import torch
def run(case, seed):
    conf, gib, _ = CASES[case]
    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context=None, stacks="python", max_entries=10**7)
    handles = [0] + sorted(torch.cuda.Stream().cuda_stream for _ in range(2))
    events, pointers, failures = sequence(seed, conf), {}, []
    for i, e in enumerate(events):
        if e[0] == 0:
            try: pointers[e[1]] = torch.cuda.caching_allocator_alloc(e[2], 0, handles[e[3]])
            except torch.OutOfMemoryError as error:
                failures.append([i, [x.strip() for x in re.findall(r"[0-9.]+ (?:bytes|KiB|MiB|GiB)", str(error))]])
                run.message = str(error)
        elif e[0] == 1:
            if e[1] in pointers: torch.cuda.caching_allocator_delete(pointers.pop(e[1]))
        elif e[0] == 2: torch.cuda.empty_cache()
        else: torch._C._accelerator_setAllocatorSettings(e[1])
    s = torch.cuda.memory_stats(); snap = torch.cuda.memory._snapshot()
    calls = [[(1 if t["action"] in ("segment_alloc", "segment_map") else -1) * t["size"] for t in snap["device_traces"][0] if t["action"].startswith("segment_")]]
    base = min((g["address"] for g in snap["segments"]), default=0)
    segments = [[g["total_size"], handles.index(g["stream"]), g["segment_type"], g["is_expandable"], [b["size"] if b["state"] != "inactive" else -b["size"] for b in g["blocks"]]]
                for g in sorted(snap["segments"], key=lambda g: g["address"])]
    return dict(conf="" if conf == "toggle" else conf, total=gib << 30, outside=OUTSIDE, events=events, oom=failures, calls=calls[0], segments=segments,
                allocated=[s["allocated_bytes.all.current"], s["allocated_bytes.all.peak"]], requested=[s["requested_bytes.all.current"], s["requested_bytes.all.peak"]],
                reserved=[s["reserved_bytes.all.current"], s["reserved_bytes.all.peak"]], retries=s["num_alloc_retries"], ooms=s["num_ooms"], rejections=s["num_oom_rejections"], torch=torch.__version__)

case = int(os.environ["CASE"])
for seed in range(CASES[case][2] * int(os.environ.get("TIMES", 1))):
    r, w = os.pipe(); pid = os.fork()
    if not pid:
        try: text = json.dumps(run(case, 100 * case + seed), separators=(",", ":"))
        except BaseException as error: text = json.dumps(dict(error=repr(error)))
        if hasattr(run, "message"): print(CASES[case], run.message, file=sys.stderr)
        with os.fdopen(w, "w") as f: f.write(text)
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f: print(f.read(), flush=True)
    os.waitpid(pid, 0)
os._exit(0)
