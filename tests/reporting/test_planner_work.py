"""The planning page of six columns tries no fits that cannot tell anything, and takes a model with a closed form."""

import versadp as vdp
from versadp.planning import precision as planning
from versadp.reporting import coefficients
from versadp.reporting.coefficients import Coefficients, some_model

SCHEMA = vdp.Schema(
    {
        "age": vdp.Bounded(18, 90),
        "region": vdp.Categorical(list("nesw")),
        "income": vdp.Bounded(0, 5e5),
        "hours": vdp.Bounded(0, 80),
        "sex": vdp.Categorical(["f", "m"]),
        "children": vdp.Bounded(0, 10, step=1),
    }
)


def test_the_model_that_nobody_chose_has_a_closed_form_through_windows(monkeypatch):
    model = some_model(SCHEMA)
    assert model.formula == "age ~ income + hours + children"
    monkeypatch.setattr(planning, "refit", None)  # never asked
    for epsilon in (4, 8):
        widths = model.widths(vdp.calibrate(SCHEMA, epsilon=epsilon))
        assert all(each["times"] > 1 for each in widths.values())


def test_noise_that_tells_no_mean_is_not_fitted(monkeypatch):
    model = Coefficients(SCHEMA, "age ~ income + C(region)")
    monkeypatch.setattr(coefficients, "precision", None)  # never asked
    mechanism = vdp.Mechanism(SCHEMA, noise={name: vdp.noise.Window(0.01) for name in SCHEMA.private})
    assert all(each["width"] is None for each in model.widths(mechanism, 1000).values())
