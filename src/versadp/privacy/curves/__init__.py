"""The curves: one family of noise a file."""
