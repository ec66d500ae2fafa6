"""What a fit tells: estimates with their uncertainty, intervals, tests, predictions."""
