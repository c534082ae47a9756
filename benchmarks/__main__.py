"""`make bench`: every benchmark, a table each; `python -m benchmarks NAME…` runs some."""

import importlib
import sys

NAMES = (
    *("attach_exec", "chained_exec", "bench_plugins", "bandwidth"),
    *("allocator", "tools", "shares", "growth", "controller", "leases"),
    *("many_leases", "cluster", "lives", "passthrough", "processor", "callers", "neighbours"),
    *("annotated", "page"),
)


def main() -> None:
    """Run the named ones, or all."""
    chosen = sys.argv[1:] or NAMES
    unknown = sorted(set(chosen) - set(NAMES))
    if unknown:
        sys.exit(f"benchmarks: no benchmark is called {', '.join(unknown)}; there are {NAMES}")
    for name in chosen:
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
