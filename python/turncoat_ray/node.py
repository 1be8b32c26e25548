"""What happens on a node of the cluster: one shard, run by the program, in a process of its own."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import socket
import stat
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import ray


@dataclass(frozen=True)
class Program:
    """The program, as the driver has it."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Done:
    """What became of a shard. A file comes along if the node does not see the driver's folder."""

    shard: int
    code: int
    said: str
    facts: dict
    file: tuple[str, bytes] | None = None


class Unfit(Exception):
    """A node on which no shard can run."""


# Programs that this worker has looked at. Workers live for many shards.
_known: dict[str, str] = {}


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def own_folder() -> Path:
    """A folder for the program that nobody else can write to. Everybody may make folders where it is: one that is not ours
    alone is refused, for its owner could put another program there once ours has been looked at."""
    folder = Path(tempfile.gettempdir()) / f"turncoat-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) != 0o700:
        raise Unfit(f"{folder} is not a folder of this user alone (mode 0700): remove it")
    return folder


def find(program: Program, binary: list[ray.ObjectRef]) -> str:
    """The path of the program on this node: where the driver has it, or in a cache, to which it is brought."""
    here, cache = Path(program.path), own_folder() / program.sha256
    for path in (here, cache):
        if _known.get(str(path)) == program.sha256:
            return str(path)
        if path.is_file() and sha256(path.read_bytes()) == program.sha256:
            _known[str(path)] = program.sha256
            return str(path)
    data = ray.get(binary[0])
    if sha256(data) != program.sha256:
        raise Unfit("the program was damaged on its way to this node")
    with tempfile.NamedTemporaryFile(dir=cache.parent, delete=False) as new:
        new.write(data)
        os.fchmod(new.fileno(), 0o700)
    os.replace(new.name, cache)
    _known[str(cache)] = program.sha256
    return str(cache)


def _die_with(parent: int) -> None:
    """In the child: be killed as soon as the worker is. A worker that is gone already would not be noticed."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(70)


def run(
    program: Program, binary: list[ray.ObjectRef], plan: str, shard: int, folder: str | None, jobs: int
) -> Done:
    """Runs a shard. Results go to `folder` if this node sees it with the plan in it, and else with the answer."""
    try:
        path = find(program, binary)
    except (Unfit, OSError) as error:
        return Done(shard, 2, f"{socket.gethostname()}: {error}", {})
    with tempfile.TemporaryDirectory(prefix="turncoat-") as own:
        shared = folder is not None and _has(Path(folder), plan)
        out = Path(folder if shared else own)
        if not shared:
            (out / "plan.json").write_text(plan)
        parent = os.getpid()
        ran = subprocess.run(
            [path, "shard", str(out / "plan.json"), str(shard), "--out", str(out), "--jobs", str(jobs), "--json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            preexec_fn=lambda: _die_with(parent),
        )
        if ran.returncode not in (0, 1):
            return Done(shard, ran.returncode, (ran.stdout + ran.stderr).strip(), {})
        facts = json.loads(ran.stdout)
        result = Path(facts["file"])
        return Done(shard, ran.returncode, "", facts, None if shared else (result.name, result.read_bytes()))


def _has(folder: Path, plan: str) -> bool:
    try:
        return (folder / "plan.json").read_text() == plan
    except OSError:
        return False
