"""Performs the steps of its arguments one after the other, then writes its pid to a file, and sleeps.

Arguments: the file, and the steps; a step is a name, or a name and a value with a colon between them. A process that a step leaves
behind sleeps too, and is in the file after that pid. No step returns before the other process of the step has done its part.
After a pause, the last pid is in a second file.
"""
import ctypes
import mmap
import os
import signal
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
left_behind = []
held = []
file = sys.argv[1]
end = [file]


def sleep():
    while True:
        time.sleep(3600)


def wait_until(condition):
    while not condition():
        time.sleep(0.01)


def real_uid(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Uid:"))


def name(pid):
    with open("/proc/%d/comm" % pid) as command:
        return command.read().strip()


def clear(_):
    """Overwrites the environ with zeros."""
    with open("/proc/self/stat", "rb") as stat:
        start, end = (int(field) for field in stat.read().rpartition(b")")[2].split()[47:49])
    ctypes.memset(start, 0, end - start)


def overflow(_):
    """Overwrites arguments and environ with one long title that has an equals sign."""
    with open("/proc/self/stat", "rb") as stat:
        start, _, environ, end = (int(field) for field in stat.read().rpartition(b")")[2].split()[45:49])
    ctypes.memset(start, ord("x"), end - start - 1)
    ctypes.memset(environ + 1, ord("="), 1)
    ctypes.memset(end - 1, 0, 1)


def title(text):
    import setproctitle
    setproctitle.setproctitle(text)


def fork(_):
    """The parent stays."""
    left_behind.append(os.getpid())
    if os.fork():
        sleep()


def fork_beside(variable):
    """The child stays; with a variable, it executes a program with that variable only."""
    child = os.fork()
    if child == 0 and variable:
        os.execve("/bin/sleep", ["sleep", "3600"], dict([variable.split("=", 1)]))
    elif child == 0:
        sleep()
    if variable:
        wait_until(lambda: name(child) == "sleep")
    left_behind.append(child)


def orphan(_):
    """The parent exits."""
    parent = os.getpid()
    if os.fork():
        os._exit(0)
    wait_until(lambda: os.getppid() != parent)


def fork_and_exec(variable):
    """The parent executes a program with this variable only."""
    parent = os.getpid()
    left_behind.append(parent)
    if os.fork():
        os.execve("/bin/sleep", ["sleep", "3600"], dict([variable.split("=", 1)]))
    wait_until(lambda: name(parent) == "sleep")


def fork_and_change_uid(uid):
    """The parent changes its uid."""
    parent = os.getpid()
    left_behind.append(parent)
    if os.fork():
        change_uid(uid)
        sleep()
    wait_until(lambda: real_uid(parent) == int(uid))


def change_uid(uid):
    os.setresuid(int(uid), int(uid), int(uid))


def execute(variable):
    """Executes this program again with this variable only."""
    with open("/proc/self/cmdline", "rb") as arguments:
        program = arguments.read().split(b"\0")[:-1 - len(sys.argv[1:])]
    steps = ["again:%s" % ",".join([end[0]] + [str(pid) for pid in left_behind])] + remaining
    os.execve(program[0], program + [os.fsencode(each) for each in [file] + steps], dict([variable.split("=", 1)]))


def again(values):
    """Continues after an execution."""
    end[0], *pids = values.split(",")
    left_behind.extend(map(int, pids))


def hold(path):
    """Opens a file and maps it, if its driver permits that."""
    file = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        held.append(mmap.mmap(file, 4096, flags=mmap.MAP_PRIVATE))
    except OSError:
        pass


def pause(_):
    """Waits until the test creates a file."""
    write_pids()
    end[0] = file + ".end"
    wait_until(lambda: os.path.exists(file + ".go"))


def setsid(_):
    os.setsid()


def subreaper(_):
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def cgroup(folder):
    """Joins a cgroup."""
    with open(folder + "/cgroup.procs", "w") as processes:
        processes.write("0")


def write_pids():
    with open(file + ".new", "w") as result:
        result.write(" ".join(map(str, [os.getpid()] + left_behind)))
    os.rename(file + ".new", end[0])


STEPS = {"again": again, "cgroup": cgroup, "clear": clear, "exec": execute, "fork": fork, "fork-beside": fork_beside,
         "fork-exec": fork_and_exec, "fork-uid": fork_and_change_uid, "hold": hold,
         "orphan": orphan, "overflow": overflow, "pause": pause, "setsid": setsid,
         "subreaper": subreaper, "title": title, "uid": change_uid}

remaining = sys.argv[2:]
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes each child that exits, also an adopted one
while remaining:
    kind, _, value = remaining.pop(0).partition(":")
    STEPS[kind](value)
write_pids()
sleep()
