"""Hands the shards of a plan to a Ray cluster, a bounded number at a time."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import ray
from ray.exceptions import RayError, RayTaskError
from tqdm import tqdm

from . import node
from .node import Done, Program, sha256


class Trouble(Exception):
    """Something that a person has to fix; the exit code comes along."""

    def __init__(self, message: str, code: int = 2):
        super().__init__(message)
        self.code = code


def blame(code: int) -> int:
    """The exit code for a program that failed, from its own. 1 would say that a run violates a property."""
    return code if code > 1 else 70


class Merger:
    """Merges results into a store, if there is one: now and then while shards run, and at the end."""

    def __init__(self, driver: Driver, db: Path | None, verify: bool):
        self.command = db and [driver.turncoat, "merge", str(driver.folder), "--db", str(db)]
        if self.command and verify:
            self.command.append("--verify")
        self.merge: subprocess.Popen | None = None
        self.began = self.next = time.monotonic()

    def begin(self) -> None:
        """Merges what there is, in the background, unless that would take more than a twentieth of the time."""
        now = time.monotonic()
        if self.merge and self.merge.poll() is not None:
            self.merge, self.next = None, now + 20 * (now - self.began)
        if self.command and not self.merge and now >= self.next:
            self.began = now
            self.merge = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self) -> None:
        """Merges the rest. What is wrong shows here."""
        if self.merge:
            self.merge.wait()
        if self.command and (code := subprocess.run(self.command).returncode):
            raise Trouble("the results cannot be merged", blame(code))


class Driver:
    def __init__(self, turncoat: str, plan: Path, folder: Path, jobs: int, retries: int, shared: bool | None):
        self.turncoat, self.folder, self.jobs, self.retries, self.shared = turncoat, folder, jobs, retries, shared
        try:
            self.text = plan.read_text()
            said = json.loads(self.text)
            self.shards, wanted = said["shards"], said["program"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise Trouble(f"{plan} is no plan: {error}") from error
        try:
            self.binary = Path(turncoat).read_bytes()
        except OSError as error:
            raise Trouble(f"cannot read the program: {error}") from error
        self.program = Program(str(Path(turncoat).resolve()), sha256(self.binary))
        if self.program.sha256 != wanted:
            raise Trouble(f"{plan} is the plan of another program than {turncoat}: make a plan with this one")
        self._prepare()

    def _prepare(self) -> None:
        """Makes the folder, with the plan in it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Trouble(f"cannot make the folder {self.folder}: {error}") from error
        there = self.folder / "plan.json"
        if not there.exists():
            self._write(there, self.text.encode())
        elif there.read_text() != self.text:
            raise Trouble(f"{self.folder} has the results of another plan: give another folder")

    def _write(self, path: Path, data: bytes) -> None:
        """Under a temporary name first: the file is there, and complete, or not there. What a driver that was killed leaves
        has a name that `turncoat` knows, and whoever writes to the folder next removes it, unless it is locked."""
        temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            with temporary.open("xb") as new:
                try:
                    fcntl.flock(new, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    pass  # A file system without locks.
                new.write(data)
                new.flush()
                os.fsync(new.fileno())
                os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise Trouble(f"cannot write {path}: {error}") from error

    def missing(self) -> list[int]:
        ask = [self.turncoat, "plan", "--missing", str(self.folder)]
        said = subprocess.run(ask, stdout=subprocess.PIPE, text=True)
        if said.returncode != 0:
            raise Trouble("cannot find out what is left to do", blame(said.returncode))
        return [int(line) for line in said.stdout.split()]

    def run(self, merger: Merger) -> int:
        """Runs all that is missing. Returns 1 if a run violates a property, and 0 if none does."""
        left = deque(self.missing())
        largest = max((node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]), default=0)
        if left and self.jobs > largest:
            print(f"no node has {self.jobs} cores yet, as --jobs wants: waiting for one", file=sys.stderr)
        # Nodes need not have this package, and get the program only if they do not have it: what is in a list is not
        # fetched before somebody asks for it.
        ray.cloudpickle.register_pickle_by_value(node)
        remote = ray.remote(node.run).options(num_cpus=self.jobs, max_retries=self.retries)
        plan, binary = ray.put(self.text), [ray.put(self.binary)]
        under_way: dict[ray.ObjectRef, int] = {}
        failed: list[Done] = []
        code = 0
        folder = None if self.shared is False else str(self.folder.resolve())
        often = 0.5 if sys.stderr.isatty() else 30
        with tqdm(total=len(left), unit="shard", smoothing=0, mininterval=often, maxinterval=often) as bar:
            while under_way or (left and not failed):
                while left and not failed and len(under_way) < self._window():
                    shard = left.popleft()
                    ref = remote.remote(self.program, binary, plan, shard, folder, self.jobs)
                    under_way[ref] = shard
                ready, _ = ray.wait(list(under_way), timeout=1.0)
                for ref in ready:
                    shard = under_way.pop(ref)
                    try:
                        done: Done = ray.get(ref)
                    except RayTaskError as error:
                        done = Done(shard, 70, f"it failed on its node: {error}", {})
                    except RayError as error:
                        done = Done(shard, 70, f"lost after {self.retries} retries: {error}", {})
                    if done.code not in (0, 1):
                        failed.append(done)
                        continue
                    if done.file:
                        if self.shared:
                            raise Trouble(f"a node does not see {self.folder}: leave out --results shared")
                        name, data = done.file
                        self._write(self.folder / name, data)
                    code = max(code, done.code)
                    bar.update()
                    if done.facts["ended"]:
                        left = self._needed(left, shard, bar)
                    merger.begin()
        for done in failed:
            print(f"shard {done.shard} ended with {done.code}:\n{done.said}\n", flush=True)
        if failed:
            raise Trouble(f"{len(failed)} shards failed; the others are kept, and the same command goes on", blame(failed[0].code))
        return code

    def _window(self) -> int:
        """As many as run at once, and some more, so that no node waits."""
        return max(2, int(2 * ray.cluster_resources().get("CPU", 1) / self.jobs))

    def _needed(self, left: deque[int], ended: int, bar: tqdm) -> deque[int]:
        """What a violation that ends its campaign leaves to do."""
        campaign = self.shards[ended][0]
        needed = deque(shard for shard in left if shard < ended or self.shards[shard][0] != campaign)
        bar.total -= len(left) - len(needed)
        bar.refresh()
        return needed

