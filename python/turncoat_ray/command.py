"""`turncoat-ray`: the command."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
import traceback
from pathlib import Path

import ray

from .driver import Driver, Merger, Trouble

ABOUT = """\
Runs the shards of a plan that `turncoat plan` has made on a Ray cluster, and merges what comes of them. What is done
already is not run again: after an error, or if it was killed, the same command goes on.

The cluster is the one of --address, or of RAY_ADDRESS; without any of them this machine is one. Nodes that do not have the
program get it, and nodes that do not see the folder send their results back."""

CODES = """\
exit codes:
  0  all is run, nothing was found       2  the plan, the folder or the program is not right
  1  all is run, and a run violates a property    70  turncoat-ray itself failed
  others are those of turncoat"""


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="turncoat-ray", description=ABOUT, epilog=CODES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("plan", type=Path, metavar="PLAN", help="the file of `turncoat plan`")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder for the results")
    parser.add_argument("--db", type=Path, metavar="FILE", help="merge all results into this store")
    parser.add_argument("--verify", action="store_true", help="execute one run in a hundred again when merging")
    parser.add_argument("--address", help="the cluster: HOST:PORT, ray://HOST:PORT, auto, or local for this machine alone")
    parser.add_argument("--turncoat", metavar="PATH", help="the program [default: the one in PATH]")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="threads, and cores, of each shard [default: 1]")
    parser.add_argument("--retries", type=int, default=5, metavar="N", help="how often a shard may lose its node [default: 5]")
    parser.add_argument(
        "--results",
        choices=["auto", "shared", "returned"],
        default="auto",
        help="whether nodes write to the folder or send results back [default: auto, as each node can]",
    )
    return parser


def main() -> None:
    args = arguments().parse_args()
    try:
        sys.exit(drive(args))
    except Trouble as trouble:
        print(f"error: {trouble}", file=sys.stderr)
        sys.exit(trouble.code)
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception:
        # Python would exit with 1, which says that a run violates a property.
        traceback.print_exc()
        print("error: turncoat-ray itself failed", file=sys.stderr)
        sys.exit(70)
    except KeyboardInterrupt:
        print("interrupted: what is done is kept, and the same command goes on", file=sys.stderr)
        sys.exit(130)


def knock(address: str) -> None:
    """Makes sure that somebody listens at HOST:PORT: Ray itself would wait for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=10).close()


def drive(args: argparse.Namespace) -> int:
    turncoat = args.turncoat or shutil.which("turncoat")
    if turncoat is None:
        raise Trouble("there is no `turncoat` in PATH: say where it is with --turncoat")
    if args.jobs < 1 or args.retries < 0:
        raise Trouble("--jobs is at least 1, and --retries at least 0")
    shared = {"auto": None, "shared": True, "returned": False}[args.results]
    driver = Driver(turncoat, args.plan, args.out, args.jobs, args.retries, shared)
    address = args.address or os.environ.get("RAY_ADDRESS") or "local"
    try:
        knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="WARNING")
    except (OSError, ValueError, RuntimeError) as error:
        raise Trouble(f"there is no cluster at {address}: {error}") from error
    merger = Merger(driver, args.db, args.verify)
    code = driver.run(merger)
    merger.end()
    return code
