"""One process of a cluster, a scheduler or a worker, that a test starts, watches and kills.

`python -m versadp_tests.cluster_process scheduler FILE` writes its address to a file; `... worker ADDRESS WHAT NTH
WHOM` kills WHOM by SIGKILL, a process by its number or itself by 0, when it has done WHAT for the NTH time: a point
that a release passes, such as "part written", or "read" for some records of a release.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path


async def scheduler(file):
    from distributed import Scheduler

    async with Scheduler(host="127.0.0.1", port=0, dashboard=False, dashboard_address="127.0.0.1:0") as opened:
        tell(Path(file), opened.address)
        await opened.finished()


def tell(file, address):
    """Write an address in one step."""
    scratch = file.with_suffix(".tmp")
    scratch.write_text(address)
    scratch.rename(file)


async def worker(address, what="", nth="1", whom="0"):
    from distributed import Worker

    if what:
        deadly(what, int(nth), int(whom) or os.getpid())
    async with Worker(address, nthreads=1, host="127.0.0.1") as opened:
        await opened.finished()


def deadly(what, nth, whom):
    """Have a process killed when something was done for the nth time."""
    from versadp.release import checkpoints
    from versadp.release.folder.folder import Folder

    seen, read = 0, Folder.read_handle

    def watch(name):
        nonlocal seen
        seen += name == what
        if name == what and seen == nth:
            os.kill(whom, signal.SIGKILL)

    def watched(self, *rest):
        watch("read")
        return read(self, *rest)

    checkpoints.watch(watch)
    Folder.read_handle = watched


if __name__ == "__main__":
    asyncio.run({"scheduler": scheduler, "worker": worker}[sys.argv[1]](*sys.argv[2:]))
