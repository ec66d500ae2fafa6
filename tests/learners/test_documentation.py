"""The page about scikit-learn runs."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "scikit-learn.md"


def test_its_code_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"scikit-learn.md block {number}", "exec"), names)
    assert len(blocks) == 4
    assert "logisticregression__alpha" in capsys.readouterr().out
