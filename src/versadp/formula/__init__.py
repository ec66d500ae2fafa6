"""Formulas: from text to a design that can be evaluated at any records."""
