"""What a round costs on 8 to 512 workers: a model, from rounds that were measured on one machine and what is sent.

    python benchmarks/claims/speed/scale_model.py [--rows 1000000000] [--latency-us 50] [--gigabytes 1.25]

A worker's own part is the round of XGBoost on one thread that ``adapters.py`` measured, by its share of the rows. The
allreduces are rings, as XGBoost's: 2 (W - 1) messages one after the other, and 2 (W - 1) / W times the bytes. Numbers
of allreduces and bytes are those of ``scale_out.py``'s table; memory, slow workers and the network's other users are
not in it.
"""

from __future__ import annotations

import argparse
import json

from lib import report

WORKERS = (8, 32, 128, 512)
LEAVES, LEVELS, FEATURES, BINS = 64, 6, 100, 256
MEASURED_FEATURES, MEASURED_ROWS = 28, 1_000_000


def thresholds_of(update: str, n_classes: int) -> tuple[int, int]:
    """Return the number of allreduces of a round and the bytes that they add up."""
    loss = 3 * n_classes - 1
    calls, numbers = {
        "newton": (1, 2 * loss),
        "joint": (2, loss + LEAVES * (n_classes + 1)),
        "shifts": (4, 2 * loss + LEAVES * (2 * n_classes - 1)),
    }[update]
    return calls, 8 * numbers


def main() -> None:
    """Compute the rounds, and write them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--latency-us", type=float, default=50.0)
    parser.add_argument("--gigabytes", type=float, default=1.25, help="a second, between two workers")
    args = parser.parse_args()
    measured = json.loads((report.RESULTS / "adapters.json").read_text())["rows"]

    def ring_ms(workers: int, calls: int, size: float) -> float:
        sent = 2 * (workers - 1) / workers * size
        return 2 * (workers - 1) * calls * args.latency_us / 1e3 + sent / args.gigabytes / 1e6

    histograms = 2 ** (LEVELS - 1) * FEATURES * BINS * 2 * 8  # one node of each pair is subtracted
    found = []
    for row in measured:
        if (row["framework"], row["n"], row["threads"]) != ("XGBoost", MEASURED_ROWS, 1):
            continue
        binary = row["binary round ms"]
        for update in ("newton", "joint", "shifts"):
            passes = binary * (row[f"{update} / binary"] - 1)
            for workers in WORKERS:
                share = args.rows / workers / MEASURED_ROWS
                trees = binary * FEATURES / MEASURED_FEATURES * share + ring_ms(workers, LEVELS, histograms)
                sums = ring_ms(workers, *thresholds_of(update, row["K"]))
                found.append(
                    {
                        "K": row["K"],
                        "update": update,
                        "workers": workers,
                        "trees ms": trees,
                        "of it allreduces": ring_ms(workers, LEVELS, histograms),
                        "passes ms": passes * share,
                        "thresholds' allreduces ms": sums,
                        "round / trees": (trees + passes * share + sums) / trees,
                    }
                )
    title = f"A model of rounds on 8 to 512 workers, {args.rows:g} rows"
    notes = (
        f"One thread a worker; {FEATURES} features of {BINS} bins, {LEVELS} levels, {LEAVES} leaves; "
        f"{args.latency_us:g} us a message, {args.gigabytes:g} GB/s, rings. A worker's own part is measured on one "
        f"machine with {MEASURED_FEATURES} features, and grows with their number and the rows."
    )
    report.write("scale_model", title, found, notes)


if __name__ == "__main__":
    main()
