"""`versadp --help` is quick: it reads the sources of the commands and imports none of them."""

import subprocess
import sys

from click.testing import CliRunner

from versadp.cli import main

LOADED = "import sys; from versadp.cli import main; main(['--help'], standalone_mode=False); print(*sys.modules)"


def test_help_imports_no_command():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "click" in loaded
    assert not loaded & {"numpy", "pyarrow", "scipy", "numba", "sklearn", "versadp.cli.fit", "versadp_bench.command"}


def test_help_says_of_every_command_what_click_would_say():
    shown = CliRunner().invoke(main, ["--help"], terminal_width=100).output
    lines = dict(line.split(maxsplit=1) for line in shown.partition("Commands:\n")[2].splitlines() if line.strip())
    for name in main.list_commands(None):
        command = main.get_command(None, name)
        assert lines[name].rstrip(".") == command.get_short_help_str(len(lines[name])).rstrip(".")
