"""Some 350 mistakes that people make: each is answered with an error of ours that says what to do."""

import re
import shlex

import pytest
from click.testing import CliRunner

from versadp.cli import main
from versadp.errors import VersadpError, near
from versadp_tests.mistakes import COMMANDS, PYTHON, Place

ALLOWED = re.compile(r"must be a (whole )?number")  # which says what is allowed: that is a hint


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = Place(tmp_path_factory.mktemp("mistakes"))
    assert place.files
    return place


@pytest.mark.filterwarnings("ignore::versadp.errors.VersadpWarning")
@pytest.mark.parametrize("name", PYTHON)
def test_a_mistake_in_python_is_told_with_a_hint(place, name):
    with pytest.raises(VersadpError) as caught:
        PYTHON[name](place)
    assert caught.value.hint or ALLOWED.search(caught.value.message), str(caught.value)


@pytest.mark.filterwarnings("ignore::versadp.errors.VersadpWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_mistake_at_the_command_line_is_told_with_a_hint(place, name):
    result = CliRunner().invoke(main, shlex.split(COMMANDS[name].format(**place.files)))
    assert result.exit_code == 2, (result.exception, result.output)
    assert "hint:" in result.output or "Usage" in result.output or ALLOWED.search(result.output), result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("toml draft", "not filled in yet: lower of 'age', upper of 'age'"),
        ("toml half", "not filled in yet: lower of 'age'"),
        ("toml dates draft", "not filled in yet: lower of 'born'"),
        ("toml kind", "did you mean 'bounded'"),
        ("toml typo", "lacks lower and does not know lowr"),
        ("target delta alone", "delta alone is half"),
        ("formula near name", "did you mean 'age'"),
        ("loss typo", "did you mean 'squared'"),
        ("loss near", "did you mean 'logistic'"),
        ("loss ols", "did you mean 'squared'"),
        ("method near", "did you mean 'efficient'"),
        ("weights noisy", "noisy column 'price'"),
        ("subset noisy", "noise decides"),
        ("fit frame", "Release.from_frame"),
        ("file text in number", "'age'"),
        ("file null", "'age'"),
        ("release column", "did you mean 'age'"),
        ("params name", "did you mean 'age'"),
    ],
)
def test_it_says_what_is_meant(place, name, words):
    with pytest.raises(VersadpError) as caught:
        PYTHON[name](place)
    assert words in str(caught.value)


def test_no_value_of_the_data_is_shown(place):
    """What is wrong in a file is told by column and count."""
    for name in ("file text in number", "file level", "release text in number", "release level"):
        with pytest.raises(VersadpError) as caught:
            PYTHON[name](place)
        assert not re.search(r"\bold\b", str(caught.value))
        assert "west" not in str(caught.value)


def test_names_that_are_near():
    assert near("Age", ["age", "income"]).startswith("did you mean 'age'")
    assert near("x", []) == "there is none"
    assert near("zzz", [f"c{k}" for k in range(99)]).endswith("c29, ...")
