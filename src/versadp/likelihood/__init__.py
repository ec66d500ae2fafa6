"""Likelihood of released records with a free law of the noisy columns: support, mixture, profile sets, histograms."""
