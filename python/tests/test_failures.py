"""What goes wrong without a cluster: a stub stands for Ray.

    python3 -m unittest discover python/tests
"""

import contextlib
import hashlib
import io
import json
import os
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock


def stub(name: str, **members: object) -> types.ModuleType:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    return module


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


exceptions = stub("ray.exceptions", RayError=RayError, RayTaskError=RayTaskError)
ray = stub("ray", exceptions=exceptions, get=lambda ref: ref, init=None, ObjectRef=object)
stub("tqdm", tqdm=None)
sys.path.insert(0, str(Path(__file__).parents[1]))

from turncoat_ray import command, node  # noqa: E402

PROGRAM = b"#!/bin/sh\nexit 0\n"
SHA256 = hashlib.sha256(PROGRAM).hexdigest()


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class Cache(Case):
    """A node that does not see the driver's program keeps a copy where everybody may make folders."""

    def setUp(self) -> None:
        super().setUp()
        patch = mock.patch.object(tempfile, "gettempdir", return_value=str(self.folder))
        patch.start()
        self.addCleanup(patch.stop)
        node._known.clear()
        self.cache = self.folder / f"turncoat-{os.getuid()}"
        self.program = node.Program(str(self.folder / "not-here"), SHA256)

    def find(self) -> str:
        return node.find(self.program, [PROGRAM])

    def test_the_program_is_brought_once_to_a_folder_of_ones_own(self) -> None:
        path = self.find()
        self.assertEqual(Path(path).read_bytes(), PROGRAM)
        self.assertEqual(self.cache.stat().st_mode & 0o777, 0o700)
        self.assertEqual(self.find(), path)

    def test_a_folder_that_others_may_write_to_is_refused(self) -> None:
        self.cache.mkdir()
        self.cache.chmod(0o777)
        with self.assertRaisesRegex(node.Unfit, "not a folder of this user alone"):
            self.find()

    def test_a_link_is_refused(self) -> None:
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(mode=0o700)
        self.cache.symlink_to(elsewhere)
        with self.assertRaises(node.Unfit):
            self.find()

    def test_a_folder_of_somebody_else_is_refused(self) -> None:
        self.cache.mkdir(mode=0o700)
        real = os.getuid()
        # Seen with the eyes of another user, whose name the folder bears.
        self.cache.rename(self.folder / f"turncoat-{real + 1}")
        with mock.patch.object(os, "getuid", return_value=real + 1), self.assertRaises(node.Unfit):
            self.find()

    def test_a_node_that_is_not_fit_says_why_and_runs_nothing(self) -> None:
        self.cache.mkdir()
        self.cache.chmod(0o777)
        done = node.run(self.program, [PROGRAM], "{}", 3, None, 1)
        self.assertEqual((done.shard, done.code), (3, 2))
        self.assertIn("not a folder of this user alone", done.said)


class Codes(Case):
    """Exit code 1 says that a run violates a property, and nothing else."""

    def main(self, plan: str, out: str = "out", init: object = None) -> tuple[int, str]:
        """Drives a plan up to the connection with the cluster."""
        program = self.folder / "turncoat"
        program.write_bytes(PROGRAM)
        (self.folder / "plan.json").write_text(plan)
        words = ["turncoat-ray", str(self.folder / "plan.json"), "--out", str(self.folder / out)]
        said = io.StringIO()
        with (
            mock.patch.object(sys, "argv", [*words, "--turncoat", str(program), "--address", "local"]),
            mock.patch.object(ray, "init", init),
            contextlib.redirect_stderr(said),
            self.assertRaises(SystemExit) as ended,
        ):
            command.main()
        return ended.exception.code, said.getvalue()

    plan = json.dumps({"schema": 1, "program": SHA256, "campaigns": [], "shards": []})

    def test_what_is_no_plan_is_bad_input(self) -> None:
        for text in ["[]", "null", "7", '"shards"', "{}", "", "[" * 100_000, '{"shards": []}']:
            code, said = self.main(text)
            self.assertEqual(code, 2, said)
            self.assertIn("is no plan", said)

    def test_a_folder_that_cannot_be_made_is_bad_input(self) -> None:
        (self.folder / "out").write_text("a file")
        code, said = self.main(self.plan)
        self.assertEqual(code, 2, said)
        self.assertIn("cannot make the folder", said)

    def test_a_full_disk_is_bad_input_and_leaves_nothing(self) -> None:
        with mock.patch.object(os, "fsync", side_effect=OSError(28, "No space left on device")):
            code, said = self.main(self.plan)
        self.assertEqual(code, 2, said)
        self.assertIn("No space left", said)
        self.assertEqual(list((self.folder / "out").iterdir()), [])

    def test_a_cluster_that_is_not_there_is_bad_input(self) -> None:
        code, said = self.main(self.plan, init=mock.Mock(side_effect=RuntimeError("no such cluster")))
        self.assertEqual(code, 2, said)
        self.assertIn("no such cluster", said)

    def test_a_crash_of_its_own_is_70(self) -> None:
        code, said = self.main(self.plan, init=mock.Mock(side_effect=ZeroDivisionError("oh")))
        self.assertEqual(code, 70, said)
        self.assertIn("turncoat-ray itself failed", said)

    def test_no_code_of_a_program_that_failed_is_1(self) -> None:
        codes = [command.Trouble("x").code, *map(sys.modules["turncoat_ray.driver"].blame, [1, -9, 2, 3, 70])]
        self.assertEqual(codes, [2, 70, 70, 2, 3, 70])


if __name__ == "__main__":
    unittest.main()
