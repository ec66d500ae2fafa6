"""The TypeScript client in `clients/typescript`: how tests build and run it, and when they cannot."""

import fcntl
import functools
import json
import shutil
import subprocess
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "typescript"
TESTS = ("test/client.test.mjs", "test/vectors.test.mjs")
SURVEY = CLIENT.parent / "survey"


def run(*command, **more):
    """Return what a command said, run in the folder of the client."""
    return subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False, timeout=600, **more)


def package():
    """Return package.json."""
    return json.loads((CLIENT / "package.json").read_text())


@functools.cache
def _problem():
    """Build the client once per process; return why it could not be built."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "there is no Node: apt-get install nodejs npm, version 20 or newer"
    if int(run("node", "--version").stdout.lstrip("v").split(".")[0]) < 20:
        return "Node is older than version 20"
    with (CLIENT / ".building").open("w") as lock:  # one process at a time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _installed():
            fetched = run("npm", "install", "--no-audit", "--no-fund", "--no-package-lock")
            if fetched.returncode or not _installed():
                return "esbuild and typescript could not be fetched from npm"
        if not _is_current():
            built = run("node", "build.mjs")
            assert built.returncode == 0, built.stdout + built.stderr
    return None


def _installed():
    wanted = package()["devDependencies"]
    found = {name: CLIENT / "node_modules" / name / "package.json" for name in wanted}
    return all(
        place.exists() and json.loads(place.read_text())["version"] == wanted[name] for name, place in found.items()
    )


def _is_current():
    sources = [*CLIENT.glob("src/*.ts"), CLIENT / "build.mjs", CLIENT / "package.json", CLIENT / "tsconfig.json"]
    sources.append(CLIENT.parents[1] / "src" / "versadp" / "devices" / "vectors-4.json")
    made = CLIENT / "dist" / "plain.js"
    return made.exists() and made.stat().st_mtime > max(source.stat().st_mtime for source in sources)


def need_build():
    """Build the client, or skip the test and say why."""
    if problem := _problem():
        pytest.skip(problem)
