"""A collector in a process of its own, which is really killed."""

import os
import signal
from pathlib import Path

import versadp as vdp
from versadp.devices import closing
from versadp.release import checkpoints
from versadp_tests import reports
from versadp_tests.fault_driver import _context

closing.RUN_ROWS = 64  # several runs
STEP = 60  # reports of one commit
LINES = reports.lines(reports.reports(240))


def act(folder):
    """Collect all reports, note how many were acknowledged, and close the round."""
    folder = Path(folder)
    with reports.collector(folder / "round", least=2) as opened:
        for start in range(0, len(LINES), STEP):
            if "after close" in opened.take(LINES[start : start + STEP]):
                break
            with (folder / "acknowledged").open("a") as file:
                file.write(f"{start + STEP}\n")
                file.flush()
                os.fsync(file.fileno())
        opened.close_round()


def acknowledged(folder):
    """Return how many reports the process was told of."""
    path = folder / "acknowledged"
    return max((int(line) for line in path.read_text().split()), default=0) if path.exists() else 0


def _child(folder, point, nth):
    seen = 0

    def watcher(name):
        nonlocal seen
        seen += name == point
        if name == point and seen == nth:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoints.watch(watcher)
    act(folder)


def start(folder, point=None, nth=1):
    """Start a process that acts."""
    process = _context().Process(target=_child, args=(str(folder), point, nth))
    process.start()
    return process


def killed_at(folder, point, nth=1):
    """Act in a process that is killed at a point; return whether it got there."""
    process = start(folder, point, nth)
    process.join(120)
    return process.exitcode == -signal.SIGKILL


def points(folder):
    """Return all points that an undisturbed act passes, each with its occurrence."""
    seen = []
    checkpoints.watch(seen.append)
    try:
        act(folder)
    finally:
        checkpoints.unwatch(seen.append)
    return [(name, seen[: i + 1].count(name)) for i, name in enumerate(seen)]


def taken(folder):
    """Return how many reports a collection has that was left as it is."""
    with vdp.devices.Collector(folder / "round") as opened:
        return opened.counts.get("taken", 0)
