"""A package of its own: processes that tests start find it before those that other packages ship by this name."""
