"""Tests import helpers that stand beside them (`from noise.noise_laws import ...`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
