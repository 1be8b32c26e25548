"""A Ray cluster of two nodes with one core each, on this machine.

Prints its address, and then obeys: at a line `kill` the second node and its workers are killed, but not the programs that
the workers have started, whose numbers it prints: they must die by themselves. The end of input ends the cluster.
"""

import json
import os
import signal
import sys

from ray.cluster_utils import Cluster

# A lost node is to be noticed within seconds.
QUICK = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 1000, "health_check_failure_threshold": 3}


def children(parent: int) -> list[int]:
    """All processes below one."""
    below = []
    try:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children") as file:
                for child in map(int, file.read().split()):
                    below += [child, *children(child)]
    except (FileNotFoundError, ProcessLookupError):  # it has ended since it was listed
        pass
    return below


def runs_turncoat(process: int) -> bool:
    try:
        return os.readlink(f"/proc/{process}/exe").endswith("turncoat")
    except FileNotFoundError:  # it has ended since it was listed
        return False


def kill(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
    except ProcessLookupError:  # it has ended since it was listed
        pass


cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": QUICK})
second = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
print(json.dumps({"address": cluster.address}), flush=True)
for line in sys.stdin:
    if line.strip() == "kill":
        raylet = second.all_processes["raylet"][0].process.pid
        below = children(raylet)
        programs = [process for process in below if runs_turncoat(process)]
        for process in [raylet, *below]:
            if process not in programs:
                kill(process)
        print(json.dumps({"programs": programs}), flush=True)
cluster.shutdown()
