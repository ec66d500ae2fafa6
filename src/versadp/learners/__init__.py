"""scikit-learn estimators: on released records they call `fit`, on plain ones scikit-learn's own solvers."""
