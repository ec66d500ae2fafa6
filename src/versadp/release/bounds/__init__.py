"""Bounds and rare levels learnt from private records with noise, inside the guarantee of their release."""
