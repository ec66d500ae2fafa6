"""Which learners take the signed sample of `Release.augment`, which refuse it, and which are wrong in silence.

Two samples whose right answer is known. In the first, weights of +1 and -1 on the same rows cancel: whoever minimises a
weighted sum finds what there is without them, and whoever drops or turns the signs learns the opposite. The second is a
signed sample of a release, where noise is undone in expectation only, and a few rows may weigh nothing together, or
less. A learner is right if on the first it is nearer to the fit without these rows than to that with the negative ones
dropped, by a factor of four, and if on the second its error is at most 0.6 of that on the records taken as they are. It
refuses if it raises on either. The table of `docs/guides/scikit-learn.md` is held to this one.
"""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model, naive_bayes, svm, tree
from sklearn.base import is_classifier

import versadp as vdp

N = 1500
RIGHT, REFUSES, WRONG = "right", "refuses", "wrong in silence"
REGRESSORS = {
    "linear_model.LinearRegression()": REFUSES,
    "linear_model.TweedieRegressor(alpha=0)": RIGHT,
    "linear_model.Ridge()": REFUSES,
    "linear_model.Lasso(alpha=0.01)": WRONG,
    "linear_model.ElasticNet(alpha=0.01)": WRONG,
    "linear_model.HuberRegressor()": RIGHT,
    "linear_model.QuantileRegressor()": REFUSES,
    "linear_model.SGDRegressor()": RIGHT,
    "linear_model.BayesianRidge()": REFUSES,
    "svm.LinearSVR()": WRONG,
    "tree.DecisionTreeRegressor()": WRONG,
    "ensemble.ExtraTreesRegressor(20)": WRONG,
    "ensemble.RandomForestRegressor(20)": REFUSES,
    "ensemble.BaggingRegressor()": REFUSES,
    "ensemble.AdaBoostRegressor()": REFUSES,
    "ensemble.GradientBoostingRegressor()": WRONG,
    "ensemble.HistGradientBoostingRegressor()": WRONG,
}
CLASSIFIERS = {
    "linear_model.LogisticRegression()": RIGHT,
    "linear_model.RidgeClassifier()": REFUSES,
    "linear_model.SGDClassifier(loss='log_loss')": WRONG,
    "svm.LinearSVC()": WRONG,
    "svm.SVC()": WRONG,
    "naive_bayes.GaussianNB()": RIGHT,
    "tree.DecisionTreeClassifier()": WRONG,
    "ensemble.RandomForestClassifier(20)": REFUSES,
    "ensemble.ExtraTreesClassifier(20)": WRONG,
    "ensemble.AdaBoostClassifier()": REFUSES,
    "ensemble.GradientBoostingClassifier()": REFUSES,
    "ensemble.HistGradientBoostingClassifier()": WRONG,
}
BOOSTERS = {
    "lightgbm.LGBMRegressor(verbose=-1, n_jobs=1)": WRONG,
    "lightgbm.LGBMClassifier(verbose=-1, n_jobs=1)": WRONG,
    "xgboost.XGBRegressor(n_jobs=1)": REFUSES,
    "xgboost.XGBClassifier(n_jobs=1)": REFUSES,
    "catboost.CatBoostRegressor(iterations=100, verbose=0, allow_writing_files=False)": REFUSES,
    "catboost.CatBoostClassifier(iterations=100, verbose=0, allow_writing_files=False)": REFUSES,
}
ROOMS = {
    "ensemble": ensemble,
    "linear_model": linear_model,
    "naive_bayes": naive_bayes,
    "svm": svm,
    "tree": tree,
}


class Sample:
    """People, their release, and signed samples."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.x = rng.uniform(-1, 1, (N, 2))
        self.index = 2 * self.x[:, 0] - self.x[:, 1] + 0.7
        self.chance = 1 / (1 + np.exp(-2 * self.index))
        self.people = self._seen(rng, self.x, self.index)
        bounds = {"a": vdp.Bounded(-1, 1), "b": vdp.Bounded(-1, 1)}
        schema = vdp.Schema(bounds | {"number": vdp.Public(), "label": vdp.Public()})
        mech = vdp.Mechanism(schema, scale=0.4, exact_rate=0.3)
        release = mech.release(self.people, key=bytes([seed, *range(31)]))
        self.naive = release.frame, np.ones(N)
        self.signed = release.augment(draws=3, random_state=seed)
        x = rng.uniform(-1, 1, (N, 2))
        others = self._seen(rng, x, -3 * (2 * x[:, 0] - x[:, 1]))
        self.cancelling = pd.concat([self.people, others, others]), np.repeat([1.0, 1.0, -1.0], N)

    @staticmethod
    def _seen(rng, x, index):
        frame = pd.DataFrame(x, columns=["a", "b"])
        frame["number"] = index + rng.normal(0, 0.2, N)
        frame["label"] = (rng.random(N) < 1 / (1 + np.exp(-2 * index))).astype(int)
        return frame

    def fitted(self, model, frame, weight):
        """Return what a learner says at the true records, and what would be right."""
        classifies = is_classifier(model)
        model.fit(frame[["a", "b"]].to_numpy(), frame["label" if classifies else "number"], sample_weight=weight)
        if hasattr(model, "predict_proba"):
            return model.predict_proba(self.x)[:, 1], self.chance
        return model.predict(self.x).astype(float), (self.index > 0).astype(float) if classifies else self.index

    def figures(self, make):
        """Return how far a learner is from right on both samples, as shares of being wrong; None if it refuses."""
        frame, weight = self.cancelling
        alone, _ = self.fitted(make(), self.people, np.ones(N))
        dropped, _ = self.fitted(make(), frame[weight > 0], np.ones(2 * N))
        naive, truth = self.fitted(make(), *self.naive)
        with np.errstate(all="ignore"):
            try:
                cancelled, _ = self.fitted(make(), frame, weight)
                signed, _ = self.fitted(make(), *self.signed)
            except Exception:  # noqa: BLE001 - whatever a learner says it with
                return None
        return size(cancelled - alone) / size(dropped - alone), size(signed - truth) / size(naive - truth)

    def verdict(self, make):
        figures = self.figures(make)
        if figures is None:
            return REFUSES
        cancelled, signed = figures
        return RIGHT if cancelled <= 0.25 and signed <= 0.6 else WRONG


def size(values):
    return np.sqrt(np.mean(values**2))


@pytest.fixture(scope="module")
def sample():
    return Sample(1)


def made(text, rooms):
    model = eval(text, dict(rooms))
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def learners():
    for text, expected in (REGRESSORS | CLASSIFIERS).items():
        long = re.search(r"Quantile|Boosting|SVC\(\)|ExtraTrees|AdaBoost|RandomForest", text)
        yield pytest.param(text, expected, marks=[pytest.mark.slow] if long else [])


@pytest.mark.thinned(3)
@pytest.mark.filterwarnings("ignore")  # what a learner says of weights that it does not understand
@pytest.mark.parametrize(("text", "expected"), list(learners()))
def test_what_a_learner_does_with_negative_weights(text, expected, sample):
    assert sample.verdict(lambda: made(text, ROOMS)) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("text", "expected"), BOOSTERS.items())
def test_what_boosting_libraries_do_with_negative_weights(text, expected, sample):
    room = text.split(".")[0]
    pytest.importorskip(room)
    assert sample.verdict(lambda: made(text, {room: importlib.import_module(room)})) == expected


def test_the_documentation_says_the_same():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "scikit-learn.md").read_text()
    told = dict(re.findall(r"^\| `([^`]+)` \| (right|refuses|wrong in silence) \|", page, flags=re.MULTILINE))
    assert told == REGRESSORS | CLASSIFIERS | BOOSTERS
