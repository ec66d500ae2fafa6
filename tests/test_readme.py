"""README and CONTRIBUTING run: their Python blocks, one after the other, and the names and commands they promise."""

import re
import subprocess
import sys
from pathlib import Path

import versadp as vdp

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_code_blocks_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(blocks) >= 4
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"README block {number}", "exec"), names)
    assert "Among 10,000 records in an order that tells nothing" in capsys.readouterr().out


def test_examples_of_the_guide_run(capsys):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.DOTALL)
    names = {"__name__": "guide"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"CONTRIBUTING block {number}", "exec"), names)
    assert len(blocks) == 3
    assert "kept with probability 0.5" in capsys.readouterr().out


def test_make_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for command in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{command}:", makefile, flags=re.MULTILINE)


def test_every_public_name_is_there_and_has_an_example():
    for name in vdp.__all__:
        thing = getattr(vdp, name)
        assert name in dir(vdp)
        if isinstance(thing, type) or callable(thing):
            assert ">>>" in (thing.__doc__ or ""), name


def test_import_is_light():
    heavy = ["numpy", "scipy", "pandas", "polars", "pyarrow", "sklearn", "formulaic", "numba", "narwhals"]
    code = f"import sys, versadp; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_mechanism_is_read_without_compiled_loops():
    """Collectors and commands that read a mechanism need 60 MB less without them."""
    text = vdp.Mechanism(vdp.Schema({"age": vdp.Bounded(18, 90)}), noise={"age": vdp.noise.Window(2.0)}).to_json()
    code = "import sys, versadp; versadp.Mechanism.from_json(sys.argv[1]); print('numba' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code, text], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"
