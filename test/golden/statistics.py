"""Golden values for src/core/statistics.ts and src/eval/pass-at-k.ts, from SciPy and statsmodels.

The bootstrap needs the same draws on both sides, so the project's generator (core/random.ts) is
written out here once more, independently; the quantiles are NumPy's.

    python test/golden/statistics.py > test/golden/statistics.json
"""

import json
import math

import numpy as np
import scipy
import statsmodels
from scipy import stats
from scipy.special import comb
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

MASK = 0xFFFFFFFF


def avalanche(h):
    h ^= h >> 16
    h = h * 0x85EBCA6B & MASK
    h ^= h >> 13
    h = h * 0xC2B2AE35 & MASK
    return h ^ (h >> 16)


def stream(*name):
    """Yields the numbers of randomStream(...name)."""
    text = "\0".join(("n" if isinstance(p, int) else "s") + str(p) for p in name)
    lanes = [0x9E3779B9, 0x243F6A88, 0xB7E15162, 0xDEADBEEF]
    for char in text:
        for i in range(4):
            lanes[i] = (lanes[i] ^ (ord(char) + i)) * 0x85EBCA6B & MASK
            lanes[i] ^= lanes[i] >> 13
    a, b, c, d = (avalanche(lane) for lane in lanes)
    drawn = 0
    while True:
        t = (a + b + d) & MASK
        d = (d + 1) & MASK
        a = b ^ (b >> 9)
        b = (c + (c << 3)) & MASK
        c = ((c << 21) | (c >> 11)) & MASK
        c = (c + t) & MASK
        drawn += 1
        if drawn > 12:
            yield t / 4294967296


def resampled_means(values, seed, resamples):
    draws = stream(seed, "bootstrap")
    n = len(values)
    return np.array([
        np.mean([values[math.floor(next(draws) * n)] for _ in range(n)])
        for _ in range(resamples)
    ])


def bootstrap(before, after, seed, resamples):
    difference = (np.array(after) - np.array(before)).tolist()
    means = resampled_means(difference, seed, resamples)
    low, high = np.percentile(means, [2.5, 97.5])
    return {
        "before": before, "after": after, "seed": seed, "resamples": resamples,
        "difference": float(np.mean(difference)), "low": low, "high": high,
        "shareNotPositive": float(np.mean(means <= 0)),
    }


def needed(differences):
    d = np.array(differences)
    delta, square = d.mean(), (d**2).mean()
    z_alpha, z_beta = stats.norm.ppf(0.975), stats.norm.ppf(0.8)
    root = z_alpha * math.sqrt(square) + z_beta * math.sqrt(square - delta**2)
    return {"differences": differences, "problems": math.ceil(root**2 / delta**2)}


def rates(seed, problems, samples):
    rng = np.random.default_rng(seed)
    return (rng.binomial(samples, rng.uniform(size=problems)) / samples).tolist()


wilson = []
for successes, trials in [(0, 1), (1, 1), (0, 164), (164, 164), (77, 164), (1, 1000), (999, 1319), (3, 7)]:
    low, high = proportion_confint(successes, trials, method="wilson")
    wilson.append({"successes": successes, "trials": trials, "low": max(0.0, low), "high": min(1.0, high)})

pairs = [(0, 0), (1, 0), (5, 5), (12, 3), (3, 12), (0, 20), (40, 61), (300, 250), (900, 1100), (7, 700)]
mcnemar_rows = [
    {"gained": g, "lost": l, "p": float(mcnemar([[0, l], [g, 0]], exact=True).pvalue)} for g, l in pairs
]
for row in mcnemar_rows:  # two sources that must agree with each other first
    flips = row["gained"] + row["lost"]
    if flips:
        other = stats.binomtest(row["gained"], flips, 0.5).pvalue
        assert abs(other - row["p"]) < 1e-9, (row, other)

pass_at_k = [
    {"n": n, "c": c, "k": k, "value": float(1 - comb(n - c, k, exact=True) / comb(n, k, exact=True))}
    for n, c, k in [(1, 0, 1), (1, 1, 1), (5, 2, 3), (20, 3, 10), (20, 0, 10), (20, 20, 1), (200, 7, 100), (200, 101, 100)]
]

print(json.dumps({
    "made_with": {"scipy": scipy.__version__, "statsmodels": statsmodels.__version__, "numpy": np.__version__},
    "wilson": wilson,
    "mcnemar": mcnemar_rows,
    "passAtK": pass_at_k,
    "bootstrap": [
        bootstrap(rates(1, 40, 1), rates(2, 40, 1), 0, 500),
        bootstrap(rates(3, 25, 10), rates(4, 25, 10), 42, 400),
        bootstrap([0.0, 1.0, 1.0], [1.0, 1.0, 1.0], 7, 1001),
    ],
    "problemsNeeded": [
        needed([1] * 12 + [-1] * 3 + [0] * 149),
        needed([1] * 3 + [0] * 161),
        needed([a - b for a, b in zip(rates(5, 60, 10), rates(6, 60, 10))]),
    ],
}, indent=1))
