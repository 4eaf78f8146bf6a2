"""Subjects that end, block or fill the process they run in. Named by path, never imported here."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path

import torch

from harness.subjects.textbook import textbook

CALLS = 0


def sound(x, w, b, g):
    return textbook(x, w, b, g)


def aborts(x, w, b, g):
    return textbook(x, w, b, g) if len(x) < 2 else os.abort()


def crashes(x, w, b, g):
    return textbook(x, w, b, g) if len(x) < 2 else ctypes.string_at(0)


def is_killed(x, w, b, g):
    return textbook(x, w, b, g) if len(x) < 2 else os.kill(os.getpid(), signal.SIGKILL)


def leaves(x, w, b, g):
    return textbook(x, w, b, g) if len(x) < 2 else os._exit(0)


def exits(x, w, b, g):
    return textbook(x, w, b, g) if len(x) < 2 else sys.exit(0)


def interrupts(x, w, b, g):
    if len(x) > 1:
        raise KeyboardInterrupt
    return textbook(x, w, b, g)


def loops_on_nan(x, w, b, g):
    while any(bool(each.isnan().any()) for each in (x, w, b, g)):
        pass
    return textbook(x, w, b, g)


def is_slow(x, w, b, g):
    """Slower than calls are given once one has hung, and quicker than the timeout."""
    if len(x) == 3:
        time.sleep(60)
    if len(x) > 1:
        time.sleep(0.6)
    return textbook(x, w, b, g)


def allocates(x, w, b, g):
    held = []
    while len(x) > 1:
        held.append(torch.ones(1 << 20))
    return textbook(x, w, b, g)


def hoards(x, w, b, g):
    held = []
    while len(x) > 1:
        held.append(bytearray(1 << 20))
    return textbook(x, w, b, g)


def prints(x, w, b, g):
    while len(x) > 1:
        os.write(1, b"x" * (1 << 20))
    return textbook(x, w, b, g)


def speaks(x, w, b, g):
    if len(x) > 1:
        sys.stdout.write("last\x1b[2J words")
        os.abort()
    return textbook(x, w, b, g)


def raises_on_empty(x, w, b, g):
    if not len(x):
        raise IndexError("no inputs")
    return textbook(x, w, b, g)


def forks(x, w, b, g):
    if len(x) > 1:
        os.fork()
    return textbook(x, w, b, g)


def forks_in_c(x, w, b, g):
    if len(x) > 1:
        ctypes.CDLL(None).fork()
    return textbook(x, w, b, g)


def forks_and_waits(x, w, b, g):
    """As a library may: the new process does not come back."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return textbook(x, w, b, g)


def bombs(x, w, b, g):
    while len(x) > 1:
        os.fork()
    return textbook(x, w, b, g)


def leaves_a_daemon(x, w, b, g):
    """A process of a session of its own, which writes its number beside this file."""
    if len(x) > 1:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path(os.environ["DAEMON"]).write_text(str(os.getpid()))
                time.sleep(600)
            os._exit(0)
        time.sleep(0.3)
        os.abort()
    return textbook(x, w, b, g)


def kills_its_parent(x, w, b, g):
    if len(x) > 1:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return textbook(x, w, b, g)


def writes_everywhere(x, w, b, g):
    """Into every descriptor there is."""
    if len(x) > 1:
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, b"\xff" * 64)
            except OSError:
                continue
    return textbook(x, w, b, g)


def counts(x, w, b, g):
    """State that a process keeps: the output is the number of the call."""
    global CALLS
    CALLS += 1
    results = textbook(x, w, b, g)
    return torch.full_like(b, CALLS), *results[1:]


def dies_later(x, w, b, g):
    """In a thread of its own."""
    if len(x) > 1:
        threading.Thread(target=os.abort).start()
        time.sleep(60)
    return textbook(x, w, b, g)


def raises_at_length(x, w, b, g):
    raise ValueError("<script>\x1b[31m\u202e" + "x" * (1 << 20))
