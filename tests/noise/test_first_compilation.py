"""The first compilation of loops is told once, on a terminal, and not when they are read from the cache."""

import os
import subprocess
import sys

import pytest

from versadp.noise.kernel import SAID

pty = pytest.importorskip("pty")  # of Unix

CODE = "import numpy as np; from versadp.noise.kernel import survey; n = np.zeros(4, np.int64)\n"
CODE += "for x in (np.ones(3), np.ones((3, 3))[0], np.ones((3, 3))[:, 0]): survey(x, 0.0, 1.0, 2.0, n)"


def run(cache, **streams):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", CODE], env=environment, check=True, **streams)


def on_terminal(cache):
    ours, theirs = pty.openpty()
    run(cache, stderr=theirs)
    os.set_blocking(ours, False)
    try:
        return os.read(ours, 10_000).decode()
    except BlockingIOError:
        return ""
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.full
def test_it_is_told_once_and_only_where_somebody_reads_it(tmp_path):
    assert on_terminal(tmp_path / "one").count(SAID) == 1
    assert on_terminal(tmp_path / "one") == ""
    assert run(tmp_path / "two", capture_output=True).stderr == b""
