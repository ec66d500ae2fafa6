"""Estimators and scores for scikit-learn: on released records by `fit`, on plain ones by scikit-learn's solvers."""
