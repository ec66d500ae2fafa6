"""Guarantees built upon guarantees."""
