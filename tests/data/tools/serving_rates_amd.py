"""Fits the serving kernels of AMD's cards, as `serving_rates.py` does for others, to published times of single operations.

    curl the source archive of PyPI amd-aiter 0.1.7.post2.dev18 (MIT), unpack it, and name its folder `aiter/configs`:
    pip install numpy scipy && python tests/data/tools/serving_rates_amd.py FOLDER

Products: the times beside AITER's chosen kernels (`*_tuned_gemm.csv`; 304 compute units: MI300X, 256: MI355X). Sums over ranks: measurements
by the authors of three pull requests, written below. No served request is read. It prints the laws that `src/hardware/kernels/amd.rs` holds.
"""

import csv
import glob
import sys

import numpy as np
from serving_fit import even, fit, roofline

# Datasheets: bandwidth, dense peak in 16 bits.
CARDS = {304: ("MI300X", 5.3e12, 1307.4e12), 256: ("MI355X", 8.0e12, 2516.6e12)}
# Bytes of a weight and of an activation, and the peak's multiple of that in 16 bits.
FORMATS = {"eight": (1.0, 1.0, 2), "blocks": (1.0, 1.0, 2), "four": (0.53125, 0.53125, 4)}
FILES = {
    "eight": ["a8w8_tuned_gemm.csv", "a8w8_bpreshuffle_tuned_gemm.csv"],
    "blocks": ["a8w8_blockscale_*tuned_gemm.csv", "model_configs/a8w8_blockscale_*tuned_gemm*.csv"],
    "four": ["a4w4_blockscale_tuned_gemm.csv"],
}
# MI300X in 8 bits, which the archive lacks: m, n, k and microseconds of `a8w8_bpreshuffle_tuned_gemm.csv` in github.com/ROCm/aiter at commit
# 08e1e1da5e90 (integers, which have the same peak).
EIGHT_304 = [
    (64, 1536, 5120, 16.7759), (64, 5120, 1280, 7.7424), (128, 1536, 5120, 17.9602), (128, 5120, 1280, 8.5797), (256, 1536, 5120, 17.6791),
    (256, 5120, 1280, 9.2104), (512, 1536, 5120, 18.7067), (512, 5120, 1280, 11.2508), (1024, 1536, 5120, 21.0125), (1024, 5120, 1280, 18.2637),
    (1664, 1536, 5120, 27.6261), (1664, 5120, 1280, 21.5241), (4096, 1536, 5120, 63.8361), (4096, 5120, 1280, 58.5804), (8192, 1536, 5120, 128.8567),
    (8192, 5120, 1280, 105.657), (10240, 1536, 5120, 142.1441), (10240, 5120, 1280, 133.9571), (12288, 1536, 5120, 185.0056), (12288, 5120, 1280, 153.8919),
    (16384, 1536, 5120, 211.7054), (16384, 5120, 1280, 195.4489),
]
# Bytes and microseconds of a sum over ranks by vLLM's own kernel. MI300X, 2 ranks: github.com/ROCm/aiter/pull/801; 4 ranks:
# github.com/vllm-project/vllm/pull/19744. MI355X, 8 ranks: github.com/vllm-project/vllm/pull/39080, at 7 links of 76.8 GB/s.
K = 1024
SUMS = {
    ("MI300X", 2): [(4 * K, 7.07), (8 * K, 7.58), (16 * K, 7.53), (32 * K, 7.30), (64 * K, 7.66), (128 * K, 8.70), (256 * K, 11.45), (512 * K, 17.13),
                    (K * K, 28.15), (2 * K * K, 49.67), (4 * K * K, 93.79), (8 * K * K, 181.43), (16 * K * K, 355.91), (32 * K * K, 703.69)],
    ("MI300X", 4): [(2 * K, 7.18), (16 * K, 7.26), (32 * K, 7.58), (256 * K, 14.39), (512 * K, 14.65), (K * K, 22.91), (2 * K * K, 36.64),
                    (4 * K * K, 63.86), (8 * K * K, 118.31), (16 * K * K, 230.48)],
    ("MI355X", 8): [(24 * K, 6.3), (48 * K, 6.7), (96 * K, 7.6), (192 * K, 10.0), (384 * K, 13.1), (768 * K, 16.0), (1536 * K, 24.2)],
}


def products(folder, units, form):
    name, bandwidth, peak = CARDS[units]
    weight, activation, times = FORMATS[form]
    quickest = {}
    for pattern in FILES[form]:
        for path in glob.glob(f"{folder}/{pattern}"):
            if "untuned" in path:
                continue
            for row in csv.DictReader(open(path)):
                m, n, k, us = int(row["M"]), int(row["N"]), int(row["K"]), float(row["us"])
                if int(row["cu_num"]) == units and us > 0 and n >= 768 and k >= 512 and n * k >= 1024 * 1024 and m <= 16384:
                    quickest[m, n, k] = min(us, quickest.get((m, n, k), us))
    if (units, form) == (304, "eight"):
        quickest = {row[:3]: row[3] for row in EIGHT_304}
    if len(quickest) < 20:
        return print(f"{name} {form}: {len(quickest)} rows, too few")
    m, n, k = (np.array(column, float) for column in zip(*quickest))
    bytes_ = n * k * weight + m * k * activation + 2 * m * n
    flops = 2 * m * n * k
    model = lambda x: roofline(x, bytes_, flops)
    starts = [(4e-6, bw, rate, 2.0) for bw in (8e11, 3e12) for rate in (2e14, 1e15)]
    limits = [0.0, np.log(bandwidth), np.log(peak * times), np.log(8.0)]
    x, error = fit(model, np.array(list(quickest.values())) * 1e-6, even(m), starts, limits)
    print(f"{name} {form}: roofline({x[0] * 1e6:.2f}, {x[1] / bandwidth:.3f}, {x[2] / peak / times:.3f}, {x[3]:.2f})"
          f" ({len(quickest)} rows, mean error {100 * error:.0f} %)")


def sums():
    for (name, ranks), rows in SUMS.items():
        size, measured = (np.array(column, float) for column in zip(*rows))
        starts = [(6e-6, bw, root) for bw in (4e10, 2e11) for root in (1e-10, 3e-9)]
        x, error = fit(lambda x: x[0] + np.sqrt(size) * x[2] + size / x[1], measured * 1e-6, np.ones(len(size)), starts)
        print(f"{name} {ranks} ranks: sum({x[0] * 1e6:.2f}, {x[1] / 1e9:.1f}, {x[2] * 1e9:.3f}) (mean error {100 * error:.0f} %)")


def main():
    for units in CARDS:
        for form in FORMATS:
            products(sys.argv[1], units, form)
    sums()


main()
