"""A table of made-up people that stands for the true ones: a law estimated from a release, and rows drawn from it."""
