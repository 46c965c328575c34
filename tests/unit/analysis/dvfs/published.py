"""The models that the paper prints (DIGEST D4, D5): T0 in s, a in s·GHz, b in s; base 1.2 GHz."""

from analysis.dvfs.frequency_model import FrequencyModel

GHZ = 1e9
BASE = 1.2 * GHZ
MCF = {
    "instructions": 284121e6 * 2,
    "misses": 83842e4,
    "seconds": 552.27,
    "hertz": BASE,
    "latency_s": 91e-9,
}
TABLE = {
    "gcc": (670.70, 737.5826, 56.0478),
    "namd": (1252.05, 1501.9, 0.5032),
    "soplex": (274.56, 286.0825, 36.1579),
    "omnetpp": (586.42, 477.6534, 188.3755),
    "xalancbmk": (615.98, 724.3608, 12.3460),
    "mcf": (552.27, 571.1685, 76.2962),
}
POVRAY = (598.30, 442.8976, 0.00091)
"""As printed, which cannot be: a/1.2 + b is not T0."""


def model(row: tuple[float, float, float]) -> FrequencyModel:
    _, a, b = row
    return FrequencyModel(a * GHZ, b)
