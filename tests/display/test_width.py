"""Text for narrow terminals: nothing is lost, nothing is wider than the terminal, and columns stay columns."""

import io

import pytest

from versadp.display.tables import render
from versadp.display.width import Narrow, fit

ROWS = [
    {"fact": f"a rather long name of the fact with number {k}", **{f"way {j}": f"value {k}{j}" for j in range(8)}}
    for k in range(3)
]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_wide_tables_are_folded(width):
    folded = fit(render(ROWS), width)
    assert max(map(len, folded.splitlines())) <= width < max(map(len, render(ROWS).splitlines()))
    for row in ROWS:
        assert all(folded.count(cell) == 1 for name, cell in row.items() if name != "fact")
    parts = folded.split("\n\n")
    assert len(parts) > 1
    for part in parts:  # each can be read by itself
        assert all(f"number {k}" in " ".join(part.split()) for k in range(3))


def test_sentences_are_wrapped_and_keep_their_indent():
    text = "A heading:\n  " + "words and " * 30 + "an end.\n"
    lines = fit(text, 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(fit(text, 60).split()) == " ".join(text.split())


def test_what_fits_is_left_alone():
    text = render(ROWS[:1]) + "\n\nDone.\n"
    assert fit(text, 500) == text
    assert fit(text, 10) == text  # too narrow for anything


def test_a_stream_holds_no_paragraph_back_and_leaves_data_alone():
    out, wanted = io.StringIO(), [True]
    stream = Narrow(out, 60, lambda: wanted[0])
    stream.write("one " * 40 + "\n\nsecond")
    assert out.getvalue().count("\n") == 4  # three lines of the first paragraph, and a blank one
    stream.close_paragraph()
    assert out.getvalue().endswith("second")
    wanted[0] = False
    stream.write("x" * 200)
    assert out.getvalue().endswith("x" * 200)
