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
    for task in os.listdir(f"/proc/{parent}/task"):
        with open(f"/proc/{parent}/task/{task}/children") as file:
            for child in map(int, file.read().split()):
                below += [child, *children(child)]
    return below


cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "_system_config": QUICK})
second = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
print(json.dumps({"address": cluster.address}), flush=True)
for line in sys.stdin:
    if line.strip() == "kill":
        raylet = second.all_processes["raylet"][0].process.pid
        below = children(raylet)
        programs = [pid for pid in below if os.readlink(f"/proc/{pid}/exe").endswith("turncoat")]
        for pid in [raylet, *below]:
            if pid not in programs:
                os.kill(pid, signal.SIGKILL)
        print(json.dumps({"programs": programs}), flush=True)
cluster.shutdown()
