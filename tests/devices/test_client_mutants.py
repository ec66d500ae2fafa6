"""Each mistake of `device_mutants.toml` is made in a copy of the client's sources, and the test named must see it."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from versadp_tests import typescript

MUTANTS = tomllib.loads((Path(__file__).parents[1] / "device_mutants.toml").read_text())
VECTORS = Path(__file__).parents[2] / "src" / "versadp" / "devices" / "vectors-4.json"
TESTED = "\n".join((typescript.CLIENT / name).read_text() for name in (*typescript.TESTS, "test/layers.mjs"))


def edits_of(mutant):
    return [mutant[name] for name in ("edit", "second") if name in mutant]


def copied(place):
    """Return a copy of the client, at the same distance from the vectors as the real one."""
    client = place / "clients" / "typescript"
    shutil.copytree(typescript.CLIENT, client, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
    (client / "node_modules").symlink_to(typescript.CLIENT / "node_modules")
    (place / "src" / "versadp" / "devices").mkdir(parents=True)
    shutil.copy(VECTORS, place / "src" / "versadp" / "devices")
    shutil.copy(typescript.CLIENT.parents[1] / "LICENSE", place)
    return client


def run(client, edits, test):
    """Return what the test named says once the edits are made, and make them undone."""
    before = {}
    for name, old, new in edits:
        source = client / "src" / name
        before.setdefault(source, source.read_text())
        source.write_text(source.read_text().replace(old, new))
    built = subprocess.run(["node", "build.mjs", "--untyped"], cwd=client, capture_output=True, text=True, check=False)
    assert (client / "dist" / "plain.js").exists(), built.stderr  # a longer file is no matter here
    pattern = f"^{re.escape(test)}$"
    command = ["node", "--test", f"--test-name-pattern={pattern}", *typescript.TESTS]
    done = subprocess.run(command, cwd=client, capture_output=True, text=True, check=False, timeout=300, env=os.environ)
    for source, text in before.items():
        source.write_text(text)
    return done


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    typescript.need_build()
    return copied(tmp_path_factory.mktemp("mutants"))


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mistake_in_the_client_is_seen(client, name):
    mutant = MUTANTS[name]
    edits, holds = edits_of(mutant), mutant.get("holds", False)
    done = run(client, edits[:1] if holds else edits, mutant["test"])
    assert ("# fail 0" in done.stdout) is holds, done.stdout[-3000:]
    if holds and len(edits) > 1:
        done = run(client, edits, mutant["test"])
        assert "# fail 0" not in done.stdout
    elif not holds:
        assert "not ok" in done.stdout


@pytest.mark.slow
def test_without_a_mistake_every_test_named_passes(client):
    """The control: what mutants fail is there, and passes with the sources as they are."""
    for test in sorted({mutant["test"] for mutant in MUTANTS.values()}):
        done = run(client, [], test)
        assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE), test
        assert "# fail 0" in done.stdout, test


def test_every_mistake_can_still_be_made():
    """The texts to replace stand where they are said to, once, and the tests are there."""
    for name, mutant in MUTANTS.items():
        for file, old, _ in edits_of(mutant):
            assert (typescript.CLIENT / "src" / file).read_text().count(old) == 1, (name, file, old)
        plain = re.sub(r" \((index|plain)\)$| by (index|plain|WebCrypto)$", "", mutant["test"])
        assert plain in TESTED, mutant["test"]
