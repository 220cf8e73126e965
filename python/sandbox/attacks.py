"""Tries what a hostile program would try, and prints a JSON object of what went through.

Runs as an ordinary program of the sandbox; the arguments come as JSON on standard input. Every
attempt is harmless where it succeeds: it looks, or it touches only what it made itself.
"""
import json
import os
import socket
import sys


def open_socket(_):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()


def send_datagram(_):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", 9))


def fork_process(_):
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def execute(facts):
    # Where it succeeds, the other program reports in this one's place.
    found = {**facts["found"], "processes": [*facts["found"].get("processes", []), "execute"]}
    os.execv("/bin/echo", ["echo", json.dumps(found)])


def read_file(_):
    with open("/etc/passwd", "rb") as file:
        file.read(1)


def write_file(facts):
    path = f"/tmp/.rlvr-probe-{facts['name']}"
    with open(path, "wb") as file:
        file.write(b"x")
    os.unlink(path)


def write_shared_memory(facts):
    path = f"/dev/shm/.rlvr-probe-{facts['name']}"
    with open(path, "wb") as file:
        file.write(b"x")
    os.unlink(path)


def signal_parent(_):
    os.kill(os.getppid(), 0)


def signal_everybody(_):
    os.kill(-1, 0)


def read_parent_memory(_):
    with open(f"/proc/{os.getppid()}/mem", "rb"):
        pass


def read_parent_environment(_):
    with open(f"/proc/{os.getppid()}/environ", "rb") as file:
        file.read(1)


def trace_parent(_):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    # PTRACE_SEIZE attaches without stopping; the exit of this process detaches.
    if libc.ptrace(0x4206, os.getppid(), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def new_namespace(_):
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


ATTEMPTS = {
    "network": (open_socket, send_datagram),
    "files": (read_file, write_file, write_shared_memory),
    "signals": (signal_parent, signal_everybody),
    "memory_of_others": (read_parent_memory, read_parent_environment, trace_parent),
    "namespaces": (new_namespace,),
    # Last, because exec does not return.
    "processes": (fork_process, execute),
}


def main():
    facts = json.loads(sys.stdin.read())
    went_through = facts["found"] = {}
    for kind, attempts in ATTEMPTS.items():
        for attempt in attempts:
            try:
                attempt(facts)
            except OSError:
                continue
            went_through.setdefault(kind, []).append(attempt.__name__)
    print(json.dumps(went_through))


main()
