"""A disk that is really full: a small file system of its own, where the system lets us make one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from versadp_tests.fault_driver import act, begun, contents, prepare

MOUNT = "mount -t tmpfs -o size={size} none {disk}"
STORY = """
set -e
{mount}
cp -r {story} {disk}/story
set +e
{python} -c "{act}"
echo first $?
test -e {disk}/story/out && echo OUT EXISTS
set -e
mount -o remount,size=64m {disk}
{python} -c "{act}"
cp -r {disk}/story {after}
"""
ACT = """
import sys
sys.path.insert(0, '{tests}')
from versadp_tests.fault_driver import act
from versadp.errors import VersadpError
try:
    act('{disk}/story', 'release')
except VersadpError as problem:
    print(type(problem).__name__, problem)
    sys.exit(3)
"""


def alone(script):
    """Run a script where it may mount what nobody else sees."""
    return subprocess.run(["unshare", "-rm", "sh", "-c", script], check=False, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("room", [8, 28, 60, 76, 92])
def test_a_release_on_a_full_disk_goes_on_when_there_is_room(tmp_path, room):
    """Refused wherever the room ends (lock, ledger, parts), with nothing to be seen; then the same bytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if not shutil.which("unshare") or alone(MOUNT.format(size="64k", disk=disk)).returncode:
        pytest.skip("no file system can be mounted here")
    story = prepare(tmp_path / "story")
    size = f"{(story / 'data.parquet').stat().st_size // 1024 + room}k"
    code = ACT.format(tests=Path(__file__).parents[1], disk=disk)
    places = {"disk": disk, "story": story, "after": tmp_path / "after"}
    done = alone(STORY.format(mount=MOUNT.format(size=size, disk=disk), python=sys.executable, act=code, **places))
    assert "first 3" in done.stdout, done
    assert "OUT EXISTS" not in done.stdout
    assert "nospc" in done.stdout.lower() or "full" in done.stdout.lower(), done.stdout
    assert done.returncode == 0, done
    act(story, "release")
    assert contents(tmp_path / "after") == contents(story)
    assert begun(tmp_path / "after") == 1
    assert os.listdir(disk) == []  # noqa: PTH208 - nothing of it reached the folder below
