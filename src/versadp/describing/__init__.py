"""Descriptive statistics of a release, corrected for its noise: one pass over the records, then estimates."""
