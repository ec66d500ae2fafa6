"""Each countermeasure is taken out of a copy of the sources, and the test that guards it must fail.

`mutants.toml` says what to replace, in which function (`module:function`, `module:Class.method`, or a module for what
stands outside functions) and which test must notice. A text need only be unique in its function. A test that fails in a
fixture, or that is not found, has not noticed. Where two countermeasures guard the same thing, `holds = true` says that
the test still passes with one of them, and another entry takes out both. All of them:
`pytest -m slow tests/test_mutants.py`.
"""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from functools import lru_cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "src" / "versadp"
MUTANTS = tomllib.loads((TESTS / "mutants.toml").read_text())


def source_file(place):
    """Return the file of a place, `module:function` or `module`, relative to the package."""
    module = place.partition(":")[0]
    if module.endswith(".py"):  # as places were written before
        return module
    name = module.replace(".", "/")
    return f"{name}.py" if (SOURCES / f"{name}.py").is_file() else f"{name}/__init__.py"


def functions(node, outer=""):
    """Yield the qualified name and the node of each function and class below a node."""
    for child in ast.iter_child_nodes(node):
        inner = outer
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield outer + child.name, child
            inner = f"{outer}{child.name}."
        if not isinstance(child, ast.expr):
            yield from functions(child, inner)


@lru_cache
def lines_of(source):
    """Return the slices of lines of each function and class, by qualified name."""
    found = {}
    for name, node in functions(ast.parse(source)):
        first = min(each.lineno for each in [node, *node.decorator_list])
        found.setdefault(name, []).append(slice(first - 1, node.end_lineno))
    return found


def edited(source, place, old, new):
    """Return the source with a text that stands once in a place replaced, or raise a LookupError that says why not."""
    lines = source.splitlines(keepends=True)
    function = place.partition(":")[2]
    found = lines_of(source).get(function, []) if function else [slice(0, len(lines))]
    if len(found) != 1:
        raise LookupError(f"{place}: {len(found)} functions with that name")
    within = "".join(lines[found[0]])
    if (times := within.count(old)) != 1:
        raise LookupError(f"{place}: the text stands there {times} times: {old}")
    lines[found[0]] = [within.replace(old, new)]
    return "".join(lines)


def mutated(folder, edits):
    """Return a copy of the sources with the edits made."""
    shutil.copytree(SOURCES, folder / "versadp")
    for place, old, new in edits:
        path = folder / "versadp" / source_file(place)
        path.write_text(edited(path.read_text(), place, old, new))
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


def problems(mutants):
    """Return why some mutants cannot be made: texts or functions that are gone, tests that are not there."""
    out = []
    for mutant in mutants.values():
        sources = {}
        for place, old, new in mutant["edits"]:
            file = source_file(place)
            try:
                sources[file] = edited(sources.get(file) or (SOURCES / file).read_text(), place, old, new)
            except (LookupError, OSError) as problem:
                out.append(str(problem))
        file, _, test = mutant["test"].partition("::")
        if f"def {test.partition('[')[0]}(" not in (TESTS / file).read_text():
            out.append(f"there is no test {mutant['test']}")
    return out


def test_every_mutant_can_still_be_made():
    assert problems(MUTANTS) == []


SOURCE = """import os

def first(x):
    return os.path.join(x, x)

class Second:
    @property
    def first(self):
        if self:
            def inner():
                return os.path.join(self, self)
        return 1
"""


def test_a_text_is_replaced_in_its_function_alone():
    lines = SOURCE.splitlines()
    for place, changed in {"m:first": 3, "m:Second.first.inner": 10}.items():
        after = edited(SOURCE, place, "os.path.join", "max").splitlines()
        assert [number for number, pair in enumerate(zip(lines, after, strict=True)) if len(set(pair)) > 1] == [changed]
    assert edited(SOURCE, "m:Second.first", "@property", "@cached").count("@cached") == 1


@pytest.mark.parametrize(
    ("place", "old", "said"),
    [
        ("m", "os.path.join", "stands there 2 times"),
        ("m:Second.first", "return 2", "stands there 0 times"),
        ("m:third", "return", "0 functions"),
    ],
)
def test_a_mutant_that_cannot_be_made_is_noticed(place, old, said):
    with pytest.raises(LookupError, match=said):
        edited(SOURCE, place, old, "")
    mutant = {"edits": [["noise.kernel:gone", "x", "y"]], "test": "test_mutants.py::test_gone"}
    assert problems({"gone": mutant})[-1] == "there is no test test_mutants.py::test_gone"
