"""Cross-tables of a release, corrected for its noise: cells are products of indicators of single columns."""
