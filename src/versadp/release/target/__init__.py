"""From a privacy target to a mechanism, and what it says."""
