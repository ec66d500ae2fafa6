"""Clusters of real processes, which a test starts, and ends by their numbers."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

TESTS = Path(__file__).parents[1]


class Cluster:
    """A scheduler, and workers of one thread each without a nanny: nobody restarts what is killed."""

    def __init__(self, folder):
        self._folder = folder
        self.processes = []
        file = folder / "address"
        self.scheduler = self._start("scheduler", str(file))
        for _ in range(600):
            if file.exists():
                break
            assert self.scheduler.poll() is None
            time.sleep(0.1)
        self.address = file.read_text().removeprefix("tcp://")

    @property
    def engine(self):
        """The engine that joins it."""
        return f"dask://{self.address}"

    def worker(self, what="", nth=1, whom=0, path=None):
        """Start a worker, perhaps one that kills, perhaps with other sources."""
        return self._start("worker", f"tcp://{self.address}", what, str(nth), str(whom), path=path)

    def ready(self, workers):
        """Wait until there are so many workers."""
        from distributed import Client

        with Client(f"tcp://{self.address}", set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=120)

    def logs(self):
        """Return what all processes wrote."""
        return b"".join(path.read_bytes() for path in sorted(self._folder.glob("*.log")))

    def _start(self, *arguments, path=None):
        paths = [str(path)] if path else []
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([*paths, *filter(None, sys.path), str(TESTS)])}
        with (self._folder / f"{len(self.processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "versadp_tests.cluster_process", *arguments],
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self.processes.append(process)
        return process

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        for process in self.processes:
            with suppress(ProcessLookupError):
                process.kill()
        for process in self.processes:
            process.wait(30)
