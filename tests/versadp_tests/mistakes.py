"""Mistakes that analysts and providers make: each a short call that must be answered with a sentence that helps.

`PYTHON` are calls of a `Place`, `COMMANDS` are command lines in which {folder}, {csv} and so on stand for its paths.
"""

# ruff: noqa: ARG005 - each call takes the place, whether it needs it or not

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

import versadp as vdp
from versadp.losses import Check, Huber, Mean, Quantile, Share


@dataclass(frozen=True)
class Place:
    """A folder with files that are right and wrong, and a release, a schema, a result to ask wrongly."""

    path: Path

    @cached_property
    def schema(self):
        return vdp.Schema(
            {
                "age": vdp.Bounded(18, 90),
                "price": vdp.Bounded(0, 100),
                "region": vdp.Categorical(["n", "e"]),
                "y": vdp.Public(),
                "group": vdp.Public(),
            }
        )

    @cached_property
    def frame(self):
        rng = np.random.default_rng(0)
        n = 400
        age = rng.uniform(18, 90, n)
        return pd.DataFrame(
            {
                "age": age,
                "price": rng.uniform(0, 100, n),
                "region": rng.choice(["n", "e"], n),
                "y": age / 10 + rng.normal(size=n),
                "group": rng.choice(["a", "b", "c"], n),
            }
        )

    @cached_property
    def mech(self):
        return vdp.Mechanism(self.schema, scale=0.1, exact_rate=0.5, keep=0.8)

    @cached_property
    def rel(self):
        return self.mech.release(self.frame)

    @cached_property
    def res(self):
        return vdp.fit(self.rel, "y ~ age")

    @cached_property
    def logit(self):
        return vdp.fit(self.rel, "I(y > 5) ~ age", loss="logistic")

    @cached_property
    def described(self):
        return vdp.describe(self.rel)

    @cached_property
    def files(self):
        """Paths by the names that command lines use."""
        at = self.path
        self.frame.to_csv(at / "people.csv", index=False)
        (at / "text.csv").write_text("age,price,region,y,group\n30,5,n,1,a\nold,6,e,2,b\n")
        (at / "empty.csv").write_text("")
        (at / "header.csv").write_text("age,price,region,y,group\n")
        (at / "short.csv").write_text("age,region,y,group\n30,n,1,a\n")
        (at / "extra.csv").write_text("age,price,region,y,group,secret\n30,5,n,1,a,9\n")
        (at / "level.csv").write_text("age,price,region,y,group\n30,5,west,1,a\n")
        (at / "null.csv").write_text("age,price,region,y,group\n30,5,n,1,a\n,6,e,2,b\n")
        (at / "ragged.csv").write_text("age,price,region,y,group\n30,5,n\n")
        (at / "binary.csv").write_bytes(b"\x00\xff\xfe binary \x80")
        (at / "not.parquet").write_text("this is no parquet file")
        (at / "people.xlsx").write_bytes(b"PK\x03\x04")
        (at / "schema.toml").write_text(self.schema.to_toml())
        (at / "draft.toml").write_text(vdp.draft_schema(at / "people.csv"))
        (at / "half.toml").write_text(self.schema.to_toml().replace("lower = 18.0", "lower = ..."))
        (at / "broken.toml").write_text("[columns.age\ntype = 'bounded'\n")
        (at / "kind.toml").write_text('[columns.age]\ntype = "bouned"\nlower = 0\nupper = 1\n')
        (at / "bounds.toml").write_text('[columns.age]\ntype = "bounded"\nlower = 90\nupper = 18\n')
        (at / "nobounds.toml").write_text('[columns.age]\ntype = "bounded"\n')
        (at / "typo.toml").write_text('[columns.age]\ntype = "bounded"\nlowr = 18\nupper = 90\n')
        (at / "nocolumns.toml").write_text('title = "people"\n')
        (at / "dates.toml").write_text('[columns.born]\ntype = "dates"\nlower = "..."\nupper = "..."\n')
        (at / "plain").mkdir()
        self.rel.save(at / "released")
        self.res.save(at / "res.json")
        (at / "wrong.json").write_text("{}")
        names = {path.name.replace(".", "_"): path for path in at.iterdir()}
        return names | {"nothing": at / "nothing", "out": at / "new", "state": at / "state"}


def _mech(**options):
    return lambda p: vdp.Mechanism(p.schema, **options)


def _calibrate(**options):
    return lambda p: vdp.calibrate(p.schema, **options)


def _fit(formula="y ~ age", **options):
    return lambda p: vdp.fit(p.rel, formula, **options)


def _release(change):
    return lambda p: p.mech.release(change(p.frame))


def _csv(name):
    return lambda p: vdp.release_file(p.files[name], p.path / "new", p.mech, state=p.path / "state")


PYTHON = {
    # schemas
    "bounds reversed": lambda p: vdp.Bounded(90, 18),
    "bounds equal": lambda p: vdp.Bounded(18, 18),
    "bounds text": lambda p: vdp.Bounded("18", "90"),
    "bounds nan": lambda p: vdp.Bounded(float("nan"), 1),
    "bounds infinite": lambda p: vdp.Bounded(0, float("inf")),
    "bounds none": lambda p: vdp.Bounded(None, 90),
    "bounds auto": lambda p: vdp.Bounded("auto", "auto"),
    "bounds list": lambda p: vdp.Bounded([18], [90]),
    "step zero": lambda p: vdp.Bounded(0, 10, step=0),
    "step does not divide": lambda p: vdp.Bounded(0, 10, step=3),
    "step text": lambda p: vdp.Bounded(0, 10, step="1"),
    "nullable text": lambda p: vdp.Bounded(0, 1, nullable="yes"),
    "levels one": lambda p: vdp.Categorical(["n"]),
    "levels none": lambda p: vdp.Categorical([]),
    "levels text": lambda p: vdp.Categorical("north"),
    "levels number": lambda p: vdp.Categorical(3),
    "levels twice": lambda p: vdp.Categorical(["n", "n"]),
    "levels mixed": lambda p: vdp.Categorical(["n", 1]),
    "levels floats": lambda p: vdp.Categorical([0.5, 1.5]),
    "dates no date": lambda p: vdp.Dates("yesterday", "2026-01-01"),
    "dates reversed": lambda p: vdp.Dates("2026-01-01", "1990-01-01"),
    "dates numbers": lambda p: vdp.Dates(1990, 2026),
    "schema list": lambda p: vdp.Schema(["age"]),
    "schema empty": lambda p: vdp.Schema({}),
    "schema class": lambda p: vdp.Schema({"age": vdp.Bounded}),
    "schema tuple": lambda p: vdp.Schema({"age": (18, 90)}),
    "schema text": lambda p: vdp.Schema({"age": "bounded"}),
    "schema name": lambda p: vdp.Schema({3: vdp.Bounded(0, 1)}),
    "schema none": lambda p: vdp.Schema(None),
    "schema id there": lambda p: vdp.Schema({"age": vdp.Bounded(0, 1)}, id="age"),
    "schema id number": lambda p: vdp.Schema({"age": vdp.Bounded(0, 1)}, id=3),
    "toml nothing": lambda p: vdp.Schema.from_toml(p.files["nothing"]),
    "toml folder": lambda p: vdp.Schema.from_toml(p.files["plain"]),
    "toml broken": lambda p: vdp.Schema.from_toml(p.files["broken_toml"]),
    "toml draft": lambda p: vdp.Schema.from_toml(p.files["draft_toml"]),
    "toml half": lambda p: vdp.Schema.from_toml(p.files["half_toml"]),
    "toml dates draft": lambda p: vdp.Schema.from_toml(p.files["dates_toml"]),
    "toml kind": lambda p: vdp.Schema.from_toml(p.files["kind_toml"]),
    "toml bounds": lambda p: vdp.Schema.from_toml(p.files["bounds_toml"]),
    "toml no bounds": lambda p: vdp.Schema.from_toml(p.files["nobounds_toml"]),
    "toml typo": lambda p: vdp.Schema.from_toml(p.files["typo_toml"]),
    "toml no columns": lambda p: vdp.Schema.from_toml(p.files["nocolumns_toml"]),
    "toml is a csv": lambda p: vdp.Schema.from_toml(p.files["people_csv"]),
    # mechanisms and targets
    "mechanism frame": lambda p: vdp.Mechanism(p.frame, scale=0.1, exact_rate=0.2),
    "mechanism dict": lambda p: vdp.Mechanism({"age": vdp.Bounded(0, 1)}, scale=0.1, exact_rate=0.2),
    "mechanism nothing": lambda p: vdp.Mechanism(p.schema),
    "scale text": _mech(scale="big", exact_rate=0.2),
    "scale negative": _mech(scale=-1, exact_rate=0.2),
    "scale unknown column": _mech(scale={"agee": 0.1}, exact_rate=0.2),
    "exact_rate one": _mech(scale=0.1, exact_rate=1),
    "exact_rate text": _mech(scale=0.1, exact_rate="0.2"),
    "exact_rate missing": _mech(scale=0.1),
    "keep above one": _mech(scale=0.1, exact_rate=0.2, keep=1.5),
    "noise not dict": _mech(noise="window"),
    "noise column missing": _mech(noise={"age": vdp.noise.Window(epsilon=2)}),
    "noise unknown column": _mech(noise={"agee": vdp.noise.Window(epsilon=2)}),
    "noise not spec": _mech(noise={"age": 2.0, "price": 2.0, "region": 2.0}),
    "noise and scale": _mech(scale=0.1, exact_rate=0.2, noise={"age": vdp.noise.Window(epsilon=2)}),
    "noise public column": _mech(noise={"y": vdp.noise.Window(epsilon=2)}),
    "target nothing": _calibrate(),
    "target delta alone": _calibrate(delta=1e-6),
    "target epsilon text": _calibrate(epsilon="4"),
    "target epsilon zero": _calibrate(epsilon=0),
    "target epsilon negative": _calibrate(epsilon=-1),
    "target epsilon large": _calibrate(epsilon=1000),
    "target epsilon none": _calibrate(epsilon=None),
    "target delta one": _calibrate(epsilon=4, delta=1.5),
    "target unit": _calibrate(epsilon=4, unit="household"),
    "target unit near": _calibrate(epsilon=4, unit="records"),
    "target noise": _calibrate(epsilon=4, noise="gaussian"),
    "target zil pure": _calibrate(epsilon=4, noise="zil"),
    "target shuffled": _calibrate(epsilon=1, delta=1e-6, shuffled=0.5),
    "target schema path": lambda p: vdp.calibrate(str(p.files["schema_toml"]), epsilon=4),
    "privacy unit": lambda p: p.mech.privacy("people"),
    "privacy delta text": lambda p: p.mech.privacy().delta("4"),
    "privacy epsilon below floor": lambda p: p.mech.privacy().epsilon(1e-9),
    "privacy compose": lambda p: p.mech.privacy().compose(0),
    # releases
    "release list": lambda p: p.mech.release([1, 2, 3]),
    "release path": lambda p: p.mech.release("people.csv"),
    "release dict": lambda p: p.mech.release({"age": [30]}),
    "release array": lambda p: p.mech.release(np.zeros((3, 5))),
    "release none": lambda p: p.mech.release(None),
    "release empty": _release(lambda f: f.iloc[:0].drop(columns="age")),
    "release missing column": _release(lambda f: f.drop(columns="price")),
    "release near column": _release(lambda f: f.rename(columns={"price": "Price"})),
    "release extra column": _release(lambda f: f.assign(secret=1)),
    "release text in number": _release(lambda f: f.assign(age=f["age"].astype(str))),
    "release nan": _release(lambda f: f.assign(age=np.nan)),
    "release inf": _release(lambda f: f.assign(age=np.inf)),
    "release null level": _release(lambda f: f.assign(region=None)),
    "release level": _release(lambda f: f.assign(region="west")),
    "release number level": _release(lambda f: f.assign(region=1)),
    "release dates in number": _release(lambda f: f.assign(age=pd.Timestamp("2020-01-01"))),
    "release complex": _release(lambda f: f.assign(age=1j)),
    "release twice named": _release(lambda f: pd.concat([f, f["age"]], axis=1)),
    "release index": _release(lambda f: f.set_index("age")),
    "release key short": lambda p: p.mech.release(p.frame, key=b"abc"),
    "release key text": lambda p: p.mech.release(p.frame, key="secret"),
    "release key zero": lambda p: p.mech.release(p.frame, key=bytes(32)),
    "privatize missing": lambda p: p.mech.privatize({"age": 41}, key=bytes(range(32))),
    "privatize text": lambda p: p.mech.privatize({"age": "old", "price": 1, "region": "n"}, key=bytes(range(32))),
    "privatize list": lambda p: p.mech.privatize([41], key=bytes(range(32))),
    "from_frame list": lambda p: vdp.Release.from_frame([1], p.mech),
    "from_frame no mechanism": lambda p: vdp.Release.from_frame(p.rel.frame, None),
    "from_frame schema": lambda p: vdp.Release.from_frame(p.rel.frame, p.schema),
    "from_frame missing": lambda p: vdp.Release.from_frame(p.rel.frame.drop(columns="age"), p.mech),
    "from_frame scaled": lambda p: vdp.Release.from_frame(p.rel.frame.assign(age=p.rel.frame["age"] / 1000), p.mech),
    "load nothing": lambda p: vdp.load(p.files["nothing"]),
    "load plain folder": lambda p: vdp.load(p.files["plain"]),
    "load file": lambda p: vdp.load(p.files["people_csv"]),
    "load number": lambda p: vdp.load(3),
    "load none": lambda p: vdp.load(None),
    "load empty": lambda p: vdp.load(""),
    "save over": lambda p: p.rel.save(p.files["released"]),
    "save number": lambda p: p.rel.save(3),
    "release column": lambda p: p.rel["agee"],
    "release column number": lambda p: p.rel[0],
    "release head": lambda p: p.rel.head(-1),
    "release head text": lambda p: p.rel.head("5"),
    "release attribute unit": lambda p: p.rel.privacy("people"),
    "augment draws": lambda p: p.rel.augment(draws=0),
    "augment extension": lambda p: p.rel.augment(extension="zeros"),
    "augment columns": lambda p: p.rel.augment(columns=["agee"]),
    "augment columns text": lambda p: p.rel.augment(columns="age"),
    "file nothing": _csv("nothing"),
    "file text in number": _csv("text_csv"),
    "file empty": _csv("empty_csv"),
    "file short": _csv("short_csv"),
    "file extra": _csv("extra_csv"),
    "file level": _csv("level_csv"),
    "file null": _csv("null_csv"),
    "file ragged": _csv("ragged_csv"),
    "file binary": _csv("binary_csv"),
    "file no parquet": _csv("not_parquet"),
    "file excel": _csv("people_xlsx"),
    "draft nothing": lambda p: vdp.draft_schema(p.files["nothing"]),
    "draft excel": lambda p: vdp.draft_schema(p.files["people_xlsx"]),
    "draft frame": lambda p: vdp.draft_schema(p.frame),
    "draft toml": lambda p: vdp.draft_schema(p.files["schema_toml"]),
    # fits
    "fit frame": lambda p: vdp.fit(p.frame, "y ~ age"),
    "fit arrow": lambda p: vdp.fit(pa.table({"y": [1.0]}), "y ~ age"),
    "fit dict": lambda p: vdp.fit({"y": [1.0]}, "y ~ age"),
    "fit none": lambda p: vdp.fit(None, "y ~ age"),
    "fit mechanism": lambda p: vdp.fit(p.mech, "y ~ age"),
    "fit path": lambda p: vdp.fit(p.files["nothing"], "y ~ age"),
    "fit csv": lambda p: vdp.fit(p.files["people_csv"], "y ~ age"),
    "fit swapped": lambda p: vdp.fit("y ~ age", p.rel),
    "formula missing": lambda p: vdp.fit(p.rel),
    "formula number": _fit(3),
    "formula list": _fit(["y", "age"]),
    "formula empty": _fit(""),
    "formula no tilde": _fit("age + price"),
    "formula no left": _fit("~ age"),
    "formula no right": _fit("y ~"),
    "formula near name": _fit("y ~ agee"),
    "formula case": _fit("y ~ Age"),
    "formula unknown": _fit("y ~ height"),
    "formula syntax": _fit("y ~ age +* price"),
    "formula bracket": _fit("y ~ (age"),
    "formula mean": _fit("y ~ np.mean(age)"),
    "formula scale": _fit("y ~ scale(age)"),
    "formula power": _fit("y ~ age**2"),
    "formula level": _fit('y ~ I(region == "west")'),
    "formula twice": _fit("y ~ age + age"),
    "formula response": _fit("y ~ y + age"),
    "formula dot": _fit("y ~ ."),
    "formula equals": _fit("y = age"),
    "formula C number": _fit("y ~ C(age)"),
    "formula unknown function": _fit("y ~ log3(age)"),
    "formula attribute": _fit("y ~ age.mean()"),
    "formula bars": _fit("y ~ age | group | group"),
    "loss near": _fit(loss="logit"),
    "loss typo": _fit(loss="squred"),
    "loss ols": _fit(loss="ols"),
    "loss number": _fit(loss=3),
    "loss none": _fit(loss=None),
    "loss class": _fit(loss=Check),
    "loss record with formula": _fit(loss=Mean("age")),
    "loss unknown column": _fit(None, loss=Mean("agee")),
    "loss public column": _fit(None, loss=Mean("y")),
    "loss quantile": lambda p: Quantile("age", 1.5),
    "loss share of number": _fit(None, loss=Share("age")),
    "loss tau": lambda p: Check(tau=90),
    "loss tau text": lambda p: Check(tau="0.9"),
    "loss k": lambda p: Huber(k=-1),
    "loss own without start": _fit(None, loss=lambda x, t: x[:, 0] * t[0]),
    "loss own wrong shape": _fit(None, loss=lambda x, t: 1.0, start=[0.0]),
    "logistic number": _fit(loss="logistic"),
    "logistic one class": _fit("I(y > 1000) ~ age", loss="logistic"),
    "poisson negative": _fit("I(y - 100) ~ age", loss="poisson"),
    "multinomial number": _fit(loss="multinomial"),
    "method near": _fit(method="efficent"),
    "method number": _fit(method=3),
    "method mle": _fit(method="mle"),
    "extension": _fit(method="drcl", extension="zeros"),
    "extension efficient": _fit(extension="zero"),
    "draws zero": _fit(draws=0),
    "draws text": _fit(draws="many"),
    "start text": _fit(start="here"),
    "start length": _fit(start=[0.0, 0.0, 0.0]),
    "start nan": _fit(start=[np.nan, 0.0]),
    "weights noisy": _fit(weights="price"),
    "weights unknown": _fit(weights="weight"),
    "weights text column": _fit(weights="group"),
    "weights length": _fit(weights=[1.0, 2.0]),
    "weights text list": _fit(weights=["a"] * 400),
    "weights negative": _fit(weights=-np.ones(400)),
    "weights nan": _fit(weights=np.full(400, np.nan)),
    "weights zero": _fit(weights=np.zeros(400)),
    "weights type": _fit(weights=np.ones(400), weight_type="sampling"),
    "engine": _fit(engine="cluster"),
    "engine number": _fit(engine=4),
    "random_state text": _fit(random_state="x"),
    "random_state negative": _fit(random_state=-1),
    "random_state none": _fit(random_state=None),
    "subset noisy": _fit(subset="age > 50"),
    "subset category": _fit(subset='region == "n"'),
    "subset text": _fit(subset="group > 3"),
    "subset equals": _fit(subset='group = "a"'),
    "subset and": _fit(subset='y > 3 and group == "a"'),
    "subset none left": _fit(subset='group == "z"'),
    "subset array": _fit(subset=np.ones(400, bool)),
    "cluster no groups": _fit(cov_type="cluster"),
    "cluster noisy": _fit(cov_type="cluster", groups="region"),
    "cluster unknown": _fit(cov_type="cluster", groups="grup"),
    "cov_type HC3": _fit(cov_type="HC3"),
    "offset noisy": _fit(offset="price"),
    "offset unknown": _fit(offset="exposure"),
    "offset text": _fit(offset="group"),
    "too many coefficients": lambda p: vdp.fit(p.mech.release(p.frame.iloc[:3]), "y ~ age + price + C(region)"),
    "no records": lambda p: vdp.fit(p.mech.release(p.frame.iloc[:0]), "y ~ age"),
    "bootstrap none": lambda p: vdp.bootstrap(p.rel, "y ~ age", reps=0),
    # results
    "params name": lambda p: p.res.params["agee"],
    "params names": lambda p: p.res.params[["age", "x"]],
    "level 95": lambda p: p.res.conf_int(95),
    "level text": lambda p: p.res.conf_int("95%"),
    "level kind": lambda p: p.res.conf_int(kind="walt"),
    "alpha": lambda p: p.res.conf_int(alpha=5),
    "summary style": lambda p: p.res.summary(style="htm"),
    "summary level": lambda p: p.res.summary(95),
    "wald name": lambda p: p.res.wald_test("agee = 0"),
    "wald words": lambda p: p.res.wald_test("age is zero"),
    "wald shape": lambda p: p.res.wald_test(np.eye(5)),
    "wald empty": lambda p: p.res.wald_test(""),
    "wald number": lambda p: p.res.wald_test(3),
    "t_test name": lambda p: p.res.t_test("agee"),
    "predict nothing": lambda p: p.res.predict(None),
    "predict number": lambda p: p.res.predict(3),
    "predict missing": lambda p: p.res.predict({"price": [1.0]}),
    "predict text": lambda p: p.res.predict({"age": ["old"]}),
    "predict shape": lambda p: p.res.predict(np.zeros((2, 7))),
    "predict lengths": lambda p: vdp.fit(p.rel, "y ~ age + price").predict(
        {"age": [1.0, 2.0], "price": [1.0, 2.0, 3.0]}
    ),
    "predict level": lambda p: p.res.predict({"age": [30.0]}, interval=95),
    "predict release": lambda p: p.res.predict(p.rel),
    "prediction nothing": lambda p: p.res.get_prediction(),
    "prediction at": lambda p: p.res.get_prediction(average=True, at={"agee": 1}),
    "slopes name": lambda p: p.logit.avg_slopes("agee"),
    "comparisons step": lambda p: p.logit.avg_comparisons({"age": 0}),
    "comparisons text": lambda p: p.logit.avg_comparisons({"age": ("a", "b")}),
    "rsquared logistic": lambda p: p.logit.rsquared,
    "results load nothing": lambda p: vdp.Results.load(p.files["nothing"]),
    "results load csv": lambda p: vdp.Results.load(p.files["people_csv"]),
    "results load json": lambda p: vdp.Results.load(p.files["wrong_json"]),
    "results load folder": lambda p: vdp.Results.load(p.files["released"]),
    "results load number": lambda p: vdp.Results.load(3),
    "results save": lambda p: p.res.save(p.path / "no" / "such" / "folder.json"),
    "summary_col none": lambda p: vdp.summary_col([]),
    "summary_col text": lambda p: vdp.summary_col(["res"]),
    "summary_col names": lambda p: vdp.summary_col([p.res], names=["a", "b"]),
    "summary_col style": lambda p: vdp.summary_col([p.res], style="tex"),
    # descriptions
    "describe frame": lambda p: vdp.describe(p.frame),
    "describe nothing": lambda p: vdp.describe(p.files["nothing"]),
    "describe none": lambda p: vdp.describe(None),
    "describe level": lambda p: vdp.describe(p.rel, level=95),
    "describe quantile": lambda p: vdp.describe(p.rel, quantiles=[50]),
    "describe quantile text": lambda p: vdp.describe(p.rel, quantiles="median"),
    "describe column": lambda p: p.described["agee"],
    "describe correlation": lambda p: p.described.correlation("age", "region"),
    "describe style": lambda p: p.described.summary("pdf"),
    # the rest
    "audit n": lambda p: vdp.audit(p.mech, n=1),
    "audit schema": lambda p: vdp.audit(p.schema),
    "plan nothing": lambda p: vdp.plan(p.schema),
    "plan frame": lambda p: vdp.plan(p.frame, epsilon=4, delta=0.05),
    "example records": lambda p: vdp.example(0),
    "example epsilon": lambda p: vdp.example(100, epsilon="8"),
}

COMMANDS = {
    "fit nothing": "fit {nothing} 'y ~ age'",
    "fit plain folder": "fit {plain} 'y ~ age'",
    "fit file": "fit {people_csv} 'y ~ age'",
    "fit near name": "fit {released} 'y ~ agee'",
    "fit syntax": "fit {released} 'y ~ age +'",
    "fit loss": "fit {released} 'y ~ age' --loss logit",
    "fit tau": "fit {released} 'y ~ age' --tau 0.9",
    "fit tau wrong": "fit {released} 'y ~ age' --loss check --tau 90",
    "fit k": "fit {released} 'y ~ age' --k 2",
    "fit k wrong": "fit {released} 'y ~ age' --loss huber --k -1",
    "fit level": "fit {released} 'y ~ age' --level 95",
    "fit weights": "fit {released} 'y ~ age' --weights price",
    "fit weights name": "fit {released} 'y ~ age' --weights wt",
    "fit offset": "fit {released} 'y ~ age' --offset price",
    "fit cluster": "fit {released} 'y ~ age' --cluster region",
    "fit cluster name": "fit {released} 'y ~ age' --cluster grup",
    "fit subset": "fit {released} 'y ~ age' --subset 'age > 50'",
    "fit subset words": "fit {released} 'y ~ age' --subset 'group is a'",
    "fit save": "fit {released} 'y ~ age' --save {nothing}/x/y.json",
    "fit draws": "fit {released} 'y ~ age' --draws 0",
    "describe nothing": "describe {nothing}",
    "describe plain": "describe {plain}",
    "describe level": "describe {released} --level 95",
    "describe quantile": "describe {released} --quantile 50",
    "describe plot": "describe {released} --plot {nothing}/x/y.png",
    "describe plot suffix": "describe {released} --plot {nothing}.docx",
    "schema nothing": "schema init {nothing}",
    "schema excel": "schema init {people_xlsx}",
    "schema folder": "schema init {plain}",
    "schema over": "schema init {people_csv} --out {schema_toml}",
    "plan nothing": "plan {nothing} --epsilon 4",
    "plan draft": "plan {draft_toml} --epsilon 4",
    "plan csv": "plan {people_csv} --epsilon 4",
    "plan no target": "plan {schema_toml}",
    "plan delta alone": "plan {schema_toml} --delta 0.05",
    "plan epsilon": "plan {schema_toml} --epsilon four",
    "plan unit": "plan {schema_toml} --epsilon 4 --unit people",
    "release no target": "release {people_csv} --schema {schema_toml} --out {out} --state {state}",
    "release delta alone": "release {people_csv} --schema {schema_toml} --out {out} --state {state} --delta 0.1",
    "release half scale": "release {people_csv} --schema {schema_toml} --out {out} --state {state} --scale 0.1",
    "release both": "release {people_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4 --scale 0.1",
    "release draft": "release {people_csv} --schema {draft_toml} --out {out} --state {state} --epsilon 4",
    "release half": "release {people_csv} --schema {half_toml} --out {out} --state {state} --epsilon 4",
    "release broken": "release {people_csv} --schema {broken_toml} --out {out} --state {state} --epsilon 4",
    "release text": "release {text_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release empty": "release {empty_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release short": "release {short_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release extra": "release {extra_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release level": "release {level_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release null": "release {null_csv} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "release over": "release {people_csv} --schema {schema_toml} --out {released} --state {state} --epsilon 4",
    "release no schema": "release {people_csv} --schema {nothing} --out {out} --state {state} --epsilon 4",
    "release no data": "release {nothing} --schema {schema_toml} --out {out} --state {state} --epsilon 4",
    "append nothing": "append {nothing} {people_csv} --state {state}",
    "append plain": "append {plain} {people_csv} --state {state}",
    "finalize plain": "finalize {plain} --state {state} --yes",
    "audit nothing": "audit {nothing}",
    "audit plain": "audit {plain}",
    "no such command": "fitt {released} 'y ~ age'",
}
