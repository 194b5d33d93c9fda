"""Prints what the monitoring service of a source tree of genv exports for one snapshot. It needs prometheus-client and psutil."""
import sys

sys.path.insert(0, sys.argv[1])
import prometheus_client
from genv.entities import Device, Devices, Env, Envs, Process, Processes, Snapshot, System
from genv.metrics import SPECS

TIME = "20/11/2026 09:22:28"


def process(pid, eid, *usage):
    return Process(pid, [Process.Usage(index, memory) for index, memory in usage], eid)


def env(eid, uid, user):
    return Env(eid, uid, TIME, user, Env.Config(None, None, None), [1], [])


def device(index, total, *eids):
    return Device(index, total, [Device.Attachement(eid, None, TIME) for eid in eids])


USED = Snapshot(
    Processes([process(100, "a", (0, "1542mi")), process(101, "b", (0, "100mi"), (1, "200mi")),
               process(102, None, (2, "28mi")), process(103, "gone", (3, "7mi"))]),
    Envs([env("a", 1001, "alice"), env("b", 1001, "alice"), env("c", 1002, "bob"), env("d", 0, None)]),
    Devices([device(0, "16384mi", "a", "b"), device(1, "16384mi", "b"), device(2, "16384mi", "d"),
             device(3, "16384mi")]))
# Index, utilization, temperature, used and total memory.
WITH_GENV = System(System.Genv(True), [
    System.Device(0, 87, 61, "1700mi", "16384mi"), System.Device(1, 12, 48, "220mi", "16384mi"),
    System.Device(2, 0, 35, "28mi", "16384mi"), System.Device(3, 1, 36, "9mi", "16384mi")])
UNUSED = Snapshot(Processes([]), Envs([]), Devices([device(0, "24576mi")]))
WITHOUT_GENV = System(System.Genv(False), [System.Device(0, 5, 40, "0mi", "24576mi")])

for own in (prometheus_client.GC_COLLECTOR, prometheus_client.PLATFORM_COLLECTOR, prometheus_client.PROCESS_COLLECTOR):
    prometheus_client.REGISTRY.unregister(own)
if sys.argv[2] == "local":
    from genv.metrics import Collection
    arguments = WITH_GENV, USED
else:
    from genv.remote.metrics import Collection
    from genv.remote.utils import Host
    hosts = [Host("gpu-1", None, None), Host("gpu-2", None, None)]
    arguments = hosts, [WITH_GENV, WITHOUT_GENV], [USED, UNUSED]
collection = Collection(SPECS)
collection.cleanup(*arguments)
collection.update(*arguments)
sys.stdout.write(prometheus_client.generate_latest().decode())
