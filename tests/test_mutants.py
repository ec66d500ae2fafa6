"""Each countermeasure is taken out of a copy of the sources, and the test that guards it must fail.

`mutants.toml` says what to replace, where, and which test must notice. A test that fails in a fixture, or that is not
found, has not noticed. Where two countermeasures guard the same thing, `holds = true` says that the test still passes
with one of them, and another entry takes out both. All of them: `pytest -m slow tests/test_mutants.py`.
"""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "versadp"
MUTANTS = tomllib.loads((TESTS / "mutants.toml").read_text())


def mutated(folder, edits):
    """Return a copy of the sources with the edits made."""
    shutil.copytree(SOURCES, folder / "versadp")
    for name, old, new in edits:
        path = folder / "versadp" / name
        path.write_text(path.read_text().replace(old, new))
    return folder


def run(sources, test):
    """Run one test against other sources; return pytest's exit code and what it said."""
    paths = os.pathsep.join([str(sources), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "", "-p", "no:cacheprovider", str(TESTS / test)]
    done = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        cwd=TESTS.parent,
        env=os.environ | {"PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        timeout=300,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTANTS)
def test_a_countermeasure_that_is_taken_out_is_missed(tmp_path, name):
    mutant = MUTANTS[name]
    code, said = run(mutated(tmp_path, mutant["edits"]), mutant["test"])
    if mutant.get("holds"):
        assert code == 0, said
        return
    assert code == 1, said
    assert "\nFAILED " in said, said  # and not ERROR, which is a fixture
    assert mutant.get("says", "") in said, said


def test_every_mutant_can_still_be_made():
    """The texts to replace stand where they are said to, once, and the tests are there."""
    for mutant in MUTANTS.values():
        for name, old, _ in mutant["edits"]:
            assert (SOURCES / name).read_text().count(old) == 1, (name, old)
        file, _, test = mutant["test"].partition("::")
        assert f"def {test.partition('[')[0]}(" in (TESTS / file).read_text(), mutant["test"]
