"""Tables: text for people, JSON and CSV for programs."""

import json

import pytest

from versadp.display.tables import render
from versadp.errors import ParameterError

ROWS = [{"name": "a", "value": 1.23456789, "count": 3}, {"name": "long name", "value": None, "count": 123456}]


def test_text_is_aligned():
    lines = render(ROWS).splitlines()
    assert lines == ["name       value   count", "a          1.235       3", "long name         123456"]
    assert render([{"income": 48651.2}]).splitlines()[1] == "48,651"


def test_json_and_csv_keep_all_digits():
    assert json.loads(render(ROWS, "json")) == ROWS
    assert render(ROWS, "csv").splitlines()[1] == "a,1.23456789,3"


def test_empty_and_unknown():
    assert render([]) == ""
    assert render([], "json") == "[]"
    with pytest.raises(ParameterError):
        render(ROWS, "xml")
