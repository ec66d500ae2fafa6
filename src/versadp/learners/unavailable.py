"""Learners of scikit-learn that noise cannot be undone in: trees, forests, neighbours, clusters.

They take means of whoever falls into a cell of noisy columns, which no correction of means undoes.
"""

from __future__ import annotations

from versadp.errors import UnavailableError

_LEARNERS = (
    "RandomForest",
    "ExtraTrees",
    "DecisionTree",
    "GradientBoosting",
    "HistGradientBoosting",
    "XGB",
    "LGBM",
    "KNeighbors",
    "KMeans",
    "MiniBatchKMeans",
    "DBSCAN",
    "AgglomerativeClustering",
    "GaussianMixture",
    "TSNE",
    "SVC",
    "GaussianProcess",
    "MLP",
)


def unavailable_learner(name: str) -> UnavailableError | None:
    """Return the error for a learner of scikit-learn that noise cannot be undone in, None for other names.

    Examples
    --------
    >>> unavailable_learner("RandomForestClassifier").message
    'there is no RandomForestClassifier: its cells hold whom noise put there, and no correction of means undoes that'
    """
    if not name.startswith(_LEARNERS):
        return None
    return UnavailableError(
        f"there is no {name}: its cells hold whom noise put there, and no correction of means undoes that",
        hint="release.people() makes weighted people without noise, whom any method takes; "
        "vdp.LogisticRegression, vdp.LinearRegression and vdp.MEstimator are corrected",
    )
