"""The law of a kernel and its fit to measured times, for `serving_rates.py` and `serving_rates_amd.py`."""

import numpy as np
from scipy.optimize import minimize


def fit(model, measured, weights, starts, limits=()):
    measured = np.log(measured)
    def loss(x):
        # No law is above the datasheet, and none below half a microsecond.
        over = sum(max(0.0, value - top) for value, top in zip(x, limits)) if limits else 0.0
        return float(np.sum(weights * np.abs(np.log(model(np.exp(x))) - measured)) / np.sum(weights)) + 10 * over

    best = None
    for start in starts:
        result = minimize(loss, np.log(start), method="Nelder-Mead", options={"maxiter": 4000, "maxfev": 4000, "xatol": 1e-3, "fatol": 1e-5})
        if best is None or result.fun < best.fun:
            best = result
    return np.exp(best.x), best.fun


def even(values):
    unique, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return 1.0 / counts[inverse]


def roofline(x, bytes_, flops):
    start, bandwidth, rate, power = x
    return start + ((bytes_ / bandwidth) ** power + (flops / rate) ** power) ** (1 / power)
