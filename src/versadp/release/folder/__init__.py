"""A release on disk."""
