"""Write the frozen table, or compare the present code with it.

`python tests/frozen/frozen_make.py` fits all cells and prints how each has moved; with `--write` the table is replaced.
"""

import json
import sys
from pathlib import Path

from versadp.display.tables import render
from versadp_bench.frozen import compared, frozen_table

PATH = Path(__file__).parent / "frozen.json"


def main(arguments):
    """Print the comparison, and write the table if asked to."""
    now = frozen_table()
    if PATH.exists():
        print(render(compared(json.loads(PATH.read_text()), now)))  # noqa: T201
    if "--write" in arguments:
        rows = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in now.items())
        PATH.write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
