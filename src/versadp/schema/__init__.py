"""Types of columns: bounded numbers, dates, categories, public, or not for release at all.

Bounds and levels are declared by the provider and never read off the data, which would leak them. So is whether values
may be missing: who is missing is a fact about people, and private unless it is declared public.
"""

from versadp.schema.columns import Bounded, Categorical, Column, Dates, Nullable, Omitted, Public
from versadp.schema.schema import Schema

__all__ = ["Bounded", "Categorical", "Column", "Dates", "Nullable", "Omitted", "Public", "Schema"]
