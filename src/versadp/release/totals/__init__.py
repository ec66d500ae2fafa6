"""Noisy totals of all people that are released beside the noisy records, inside the same guarantee."""
