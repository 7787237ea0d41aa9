"""Run benchmarks: `python -m benchmarks [--full] [NAME ...]`. `--list` names them; each also runs alone."""

import argparse
import subprocess
import sys

BENCHMARKS: dict[str, tuple[list[str], list[str]]] = {
    "offsets_vs_gemm": ([], ["--targets", "20000", "100000"]),
    "bank_index": (["--bank", "10000", "--targets", "20000"], []),
    "sinkhorn_vs_pot": (["--rows", "6000", "--repeats", "1"], ["--rows", "10000"]),
    "index_recipes": (["--targets", "10000"], ["--targets", "10000", "100000"]),
    "half_dimensions": (["--targets", "20000"], []),
    "correction_is_free": (["--targets", "20000"], ["--targets", "20000", "100000"]),
    "build_stages": (["--targets", "20000"], ["--targets", "100000"]),
    "opening": (["--targets", "50000"], ["--targets", "400000"]),
    "swap": (["--large", "50000", "--rounds", "1"], ["--large", "400000"]),
    "shards": (["--targets", "20000"], ["--targets", "400000"]),
    "segments": (["--part", "merge", "pull", "calls"], []),
    "filters": ([], ["--targets", "20000", "100000"]),
    "overload": (["--seconds", "4", "--rounds", "1"], []),
    "peers": (["--targets", "20000"], ["--targets", "100000", "1000000"]),
    "ten_million": (["--targets", "100000"], []),
    "http_service": (["--targets", "1000", "--indexes", "hnsw", "--seconds", "2", "--rounds", "2"], []),
}
"""Name of the module -> its arguments for a quick run and for a full run."""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--full", action="store_true", help="also what takes long")
    parser.add_argument("--list", action="store_true", help="name all and run none")
    given = parser.parse_args()
    if unknown := set(given.names) - set(BENCHMARKS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}: there are {', '.join(BENCHMARKS)}")
    failed = []
    for name in given.names or BENCHMARKS:
        quick, full = BENCHMARKS[name]
        arguments = full if given.full else quick
        print(f"\n## {name} {' '.join(arguments)}", flush=True)
        if not given.list and subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *arguments]).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
