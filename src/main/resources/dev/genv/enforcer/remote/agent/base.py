"""The program that runs on other machines: it gathers facts about one (observe), or carries out actions on it (act).

Its parts are sent over standard input, one after the other; this is the first, and a last line calls serve. It answers
one request after the other as long as its connection lasts. It keeps only the list of the GPUs, which no action uses, and
an idle child process. Users of the machine write most of what it reads: names, environments and state files hold any bytes,
change at any moment, and reading them may never end.
"""
import atexit
import binascii
import bisect
import collections
import errno
import fcntl
import grp
import itertools
import json
import os
import pickle
import pwd
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import time

if sys.version_info < (3, 6):
    sys.exit("Python %d.%d is too old" % sys.version_info[:2])

LARGEST_LIST = 16 << 20
PART = 1 << 16  # bytes of one read; with larger ones, the memory of the process becomes fragmented and grows
PAUSE = 0.01  # seconds
FAILURES = {errno.ENOENT: "ABSENT", errno.ESRCH: "ABSENT", errno.ENOTDIR: "ABSENT", errno.EACCES: "DENIED", errno.EPERM: "DENIED"}


class Untrusted(Exception):
    """A user whom the machine does not trust can replace a file."""


class NoAnswer(Exception):
    """A child process did not answer in time."""


def failed(failure, reason=""):
    return {"failure": failure, "reason": reason}


def failure(error):
    return failed(FAILURES.get(error.errno, "OTHER"), error.strerror or "")


def reading(function, *arguments):
    """Returns the value of a function as a Reading; an error of the system is a fact too."""
    try:
        return {"value": function(*arguments)}
    except Untrusted as error:
        return failed("UNTRUSTED", text(str(error)))
    except NoAnswer as error:
        return failed("TIMEOUT", str(error))
    except OSError as error:
        return failure(error)


def to_json(value):
    """Returns facts as JSON; bytes become base64."""
    return json.dumps(value, separators=(",", ":"), default=base64)


def base64(content):
    return binascii.b2a_base64(content, newline=False).decode()


def sha256(content):
    import hashlib
    return hashlib.sha256(content).hexdigest()


def text(name):
    """Returns a name of the file system as text that every parser of JSON accepts."""
    return os.fsencode(name).decode("utf-8", "replace")


def read(descriptor, limit):
    content = bytearray()
    part = b"-"
    while part and len(content) < limit:
        part = os.read(descriptor, min(limit - len(content), PART))
        content += part
    return bytes(content)


def read_file(path, limit=LARGEST_LIST):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return read(descriptor, limit)
    finally:
        os.close(descriptor)


def lines_of(path, limit=LARGEST_LIST):
    """Returns the lines of a file; none if it cannot be read."""
    return reading(read_file, path, limit).get("value", b"").split(b"\n")


def first_line(*paths):
    """Returns the first line that is not empty; empty if there is none."""
    lines = (lines_of(path, 4096)[0].strip() for path in paths)
    return next(filter(None, lines), b"").decode("utf-8", "replace")


def write(descriptor, content):
    while content:
        content = content[os.write(descriptor, content):]


def where(error):
    """Returns the type and line of an unexpected exception, but not its text: users may have written that."""
    trace = error.__traceback__
    while trace.tb_next:
        trace = trace.tb_next
    return "%s in line %d" % (type(error).__name__, trace.tb_lineno)
