"""Searches and roots on guarantees."""
