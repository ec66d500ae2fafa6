"""The dossier: figures of the library, no record read, and whatever a publisher says is text and nothing else."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import versadp as vdp
from versadp.cli import main
from versadp.errors import ParameterError
from versadp.release.folder.editions import Edition, composed
from versadp.release.folder.manifest import Manifest, digest_of
from versadp.release.release import Release
from versadp.reporting.document import Document, Section, markdown_text
from versadp.reporting.facts import Facts
from versadp_tests.pages import Reading

GOLDEN = Path(__file__).parents[1] / "golden" / "releases"
KEY = bytes(range(11, 43))
ROWS = 3000
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "</title></style><svg onload=alert(3)>",
    "[click](javascript:alert(4)) ![x](http://evil.example/x.png)",
    "`code` **bold** | cell | <http://evil.example> &lt;b&gt;",
    "{{ 7 * 191 }} {% raw %} $x$ https://evil.example www.evil.example",
]
TEXTS = ("title", "curator", "contact", "purpose", "covers", "rationale")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(4)
    return pd.DataFrame({"age": rng.uniform(18, 90, ROWS), "smoker": rng.choice(["no", "yes"], ROWS), "year": 2020})


@pytest.fixture(scope="module")
def release(frame):
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "smoker": vdp.Categorical(["no", "yes"]), "year": vdp.Public()})
    return vdp.calibrate(schema, epsilon=2, delta=1e-6, shuffled=ROWS).release(frame, key=KEY)


@pytest.fixture(scope="module")
def said():
    return vdp.Metadata(
        title="Smoking 2020",
        curator="Office",
        contact="privacy@office.example",
        purpose="Research.\nTeaching.",
        covers="Adults",
        rationale="As in 2019",
    )


@pytest.fixture(scope="module")
def folder(release, said, tmp_path_factory):
    place = tmp_path_factory.mktemp("dossier") / "released"
    release.save(place, metadata=said)
    return place


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return the dossier of a release whose metadata and column names are written by an enemy."""
    place = tmp_path_factory.mktemp("hostile") / "released"
    columns = {name: vdp.Categorical(["a", "b"]) for name in HOSTILE[:-1]} | {HOSTILE[-1]: vdp.Public()}
    table = pd.DataFrame({name: ["a", "b"] * 200 for name in columns})
    table[HOSTILE[-1]] = 1
    vdp.calibrate(vdp.Schema(columns), epsilon=4).release(table, key=KEY).save(
        place, metadata=vdp.Metadata(**dict(zip(TEXTS, HOSTILE, strict=True)))
    )
    return vdp.dossier(place).files


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", ["label", "notice", "annex"])
def test_html_shows_hostile_text_as_text(hostile, name):
    page = Reading(hostile[f"{name}.html"])
    allowed = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "p",
        "main",
        "section",
        "h2",
        "ul",
        "li",
        "dl",
    }
    allowed |= {"div", "dt", "dd", "small", "table", "caption", "thead", "tbody", "tr", "th", "td", "footer", "strong"}
    assert page.tags <= allowed
    known = {"lang", "charset", "name", "content", "http-equiv", "class", "id", "aria-labelledby", "aria-label", "role"}
    assert {key for _, given in page.elements for key in given} <= known | {"scope", "tabindex"}
    told = squeezed(" ".join(page.texts))
    shown = [HOSTILE[0], HOSTILE[1], *([HOSTILE[2]] if name == "notice" else [])]
    assert all(squeezed(text) in told for text in shown)


@pytest.mark.parametrize("name", ["label", "notice", "annex"])
def test_markdown_shows_hostile_text_as_text(hostile, name):
    markdown_it = pytest.importorskip("markdown_it")
    html = (
        markdown_it.MarkdownIt("commonmark", {"html": True})
        .enable(["table", "strikethrough"])
        .render(hostile[f"{name}.md"])
    )
    page = Reading(html)
    assert page.tags <= {"h1", "h2", "p", "ul", "li", "strong", "table", "thead", "tbody", "tr", "th", "td"}
    assert all(not given for _, given in page.elements)
    told = squeezed("".join(page.texts)).replace("\u200b", "")
    assert squeezed(HOSTILE[0]) in told
    if name == "annex":
        rows = [len(line) for line in cells(html)]
        assert set(rows) <= {3, 4}
        assert rows.count(3) == len(HOSTILE)  # each column in one row of its own, heading included


def cells(html):
    """Return the cells of each row of all tables of rendered Markdown."""

    class Rows(HTMLParser):
        def __init__(self):
            super().__init__()
            self.rows = []

        def handle_starttag(self, tag, attrs):
            if tag == "tr":
                self.rows.append([])
            if tag in {"td", "th"}:
                self.rows[-1].append("")

    found = Rows()
    found.feed(html)
    return [row for row in found.rows if row]


@pytest.mark.parametrize(
    "text",
    [
        "- a",
        "+ a",
        "= a",
        "1. a",
        "12) a",
        "---",
        "===",
        "# a",
        "> a",
        "```",
        "~~~",
        "    a",
        "| a |",
        "a\n\nb",
        "* a",
        "_a_",
    ],
)
def test_a_text_is_one_paragraph_of_markdown(text):
    markdown_it = pytest.importorskip("markdown_it")
    html = (
        markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table"]).render(markdown_text(text) + "\n\nend\n")
    )
    page = Reading(html)
    assert page.tags == {"p"}
    assert squeezed("".join(page.texts)) == f"{squeezed(text)} end"


def test_json_holds_no_tags(hostile):
    for name in ("registry.json", "figures.json"):
        assert not set("<>&") & set(hostile[name])
    entry = json.loads(hostile["registry.json"])["deployment"]
    assert entry["basic"]["name"] == HOSTILE[0]
    assert entry["basic"]["intended_use"] == HOSTILE[3]
    assert entry["implementation"]["justification"] == HOSTILE[5]


def test_figures_are_the_librarys_and_never_too_small(release):
    figures = {
        (figure["unit"], figure["attacker"]): figure
        for figure in json.loads(vdp.dossier(release).files["figures.json"])["guarantees"]
    }
    assert set(figures) == {(unit, who) for unit in ("record", "attribute") for who in ("shuffled", "local")}
    for (unit, who), figure in figures.items():
        hold = [release.mechanism.privacy(unit)] + ([release.privacy(unit)] if who == "shuffled" else [])
        best = min(float(each.delta(figure["epsilon"])) for each in hold)
        assert best <= figure["delta"] * (1 + 1e-4)
        for alarms in (0.001, 0.01, 0.05, 0.1):
            most = 100 * (1 - max(float(each.beta(alarms)) for each in hold))
            assert most * (1 - 2e-6) <= figure["found_percent"][f"{100 * alarms:g}"] <= most * 1.011
        guessed = 50 * (1 + min(each.advantage() for each in hold))
        assert guessed * (1 - 2e-6) <= figure["guessed_percent"] <= guessed * 1.011
    assert figures["record", "shuffled"]["delta"] == 1e-6
    assert figures["record", "local"]["epsilon"] > figures["record", "shuffled"]["epsilon"]


def test_the_entry_has_what_the_manifest_knows(folder, said):
    entry = vdp.dossier(folder).entry["deployment"]
    assert entry["basic"]["name"] == said.title
    assert entry["basic"]["data_curators"][0]["data_curator_name"] == said.curator
    assert entry["basic"]["publication_date"] == "2026-03-01"
    assert entry["privacy_loss"]["privacy_parameters"]["delta"] == 1e-6
    assert entry["privacy_loss"]["privacy_parameters"]["epsilon"] <= 2
    assert entry["dp_variant"]["variant_name"] == "Approximate DP"
    assert "year" in entry["dp_variant"]["unprotected_quantities"]
    assert f"versadp {vdp.__version__}" in entry["implementation"]["mechanisms"]
    assert vdp.load(folder).manifest.digest in entry["implementation"]["additional_information"]


def test_no_record_is_read(folder, tmp_path):
    """Records that are overwritten within their parts change nothing: footers and manifest are looked at alone."""
    whole = vdp.dossier(folder).files
    copy = shutil.copytree(folder, tmp_path / "copy")
    for part in copy.glob("part-*"):
        data = bytearray(part.read_bytes())
        data[4:600] = bytes(596)
        part.write_bytes(data)
    assert vdp.dossier(copy).files == whole
    with pytest.raises(vdp.errors.ReleaseError):
        vdp.load(copy).to_arrow()


def test_figures_are_not_copied_from_the_manifests_words(folder, tmp_path):
    whole = vdp.dossier(folder).files
    copy = shutil.copytree(folder, tmp_path / "copy")
    data = json.loads((copy / "manifest.json").read_text())
    data["privacy"] = {"statement": "epsilon 0.001: perfectly safe", "record": {}, "attribute": {}}
    data["digest"] = digest_of(data)
    (copy / "manifest.json").write_text(json.dumps(data))
    forged = vdp.dossier(copy).files
    old, new = (json.loads(each["registry.json"])["deployment"] for each in (whole, forged))
    digests = [each["implementation"].pop("additional_information") for each in (old, new)]
    assert digests[0] != digests[1]
    assert old == new
    assert all("perfectly" not in text for text in forged.values())
    assert {name: forged[name] for name in forged if "json" not in name} == {
        name: whole[name] for name in whole if "json" not in name
    }


def test_raw_values_are_in_no_output(tmp_path):
    sentinel = 61.4150926535
    frame = pd.DataFrame({"age": [sentinel, 30.25, 41.125] * 200, "name": ["Zeta Sentinel"] * 600})
    schema = vdp.Schema({"age": vdp.Bounded(18, 90), "name": vdp.Omitted()})
    vdp.calibrate(schema, epsilon=2).release(frame, key=KEY).save(tmp_path / "released")
    vdp.dossier(tmp_path / "released", tmp_path / "out")
    for path in (tmp_path / "out").iterdir():
        text = path.read_text()
        assert "61.4" not in text
        assert "Sentinel" not in text


def test_editions_are_counted_in(release):
    alone = Facts(release).figure("record")
    local = Facts(release).figure("record", "local")
    earlier = (Edition(1, ROWS, "0" * 64, release.mechanism, release.order),)
    manifest = Manifest.of(release.mechanism, (), order=release.order, batches=(), earlier=earlier)
    both = Release(release.frame, release.mechanism, order=release.order, manifest=manifest)
    facts = Facts(both)
    assert facts.figure("record").found(0.01) > 1.3 * alone.found(0.01)
    assert facts.figure("record", "local").found(0.01) > local.found(0.01)
    twice = composed(
        release.mechanism.privacy("record"),
        (Edition(1, ROWS, "0" * 64, release.mechanism, vdp.Release(release.frame, release.mechanism).order),),
        "record",
    )
    assert facts.figure("record", "local").profiles[0] == twice
    assert "edition 2 of 2" in vdp.dossier(both).files["annex.md"]


def test_noise_from_a_seed_is_called_not_private(frame, release):
    with pytest.warns(vdp.errors.InsecureWarning):
        seeded = release.mechanism.release(frame, insecure_seed=3)
    made = vdp.dossier(seeded)
    for name, text in made.files.items():
        assert "Not private" in text or name == "figures.json"
    assert made.entry["deployment"]["privacy_loss"]["privacy_parameters"] == {}
    assert made.figures["insecure"]


@pytest.mark.parametrize(
    "place", sorted(path.parent for path in GOLDEN.rglob("manifest.json")), ids=lambda path: path.name
)
def test_releases_of_older_versions_work(place):
    made = vdp.dossier(place)
    assert set(made.missing) >= {"title", "date", "software"}
    assert "Releases of these people before:** not stated" in made.files["label.md"]
    assert len(made.files) == 8


def test_the_command_lists_what_is_not_stated(folder, tmp_path):
    run = CliRunner().invoke(main, ["dossier", str(folder), "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    assert "not stated by the publisher" not in run.output
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"registry.json", "figures.json"} | {
        f"{x}.{y}" for x in ("label", "notice", "annex") for y in ("html", "md")
    }
    bare = Release(vdp.load(folder).frame, vdp.load(folder).mechanism)
    bare.save(tmp_path / "bare")
    run = CliRunner().invoke(main, ["dossier", str(tmp_path / "bare"), "--out", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    assert "to be filled in: title, curator, contact, purpose, covers, rationale\n" in run.output
    assert "Contact: not stated" in (tmp_path / "out" / "label.md").read_text()


def test_a_release_folder_takes_no_dossier(folder):
    before = sorted(folder.iterdir())
    with pytest.raises(ParameterError, match="folder of a release"):
        vdp.dossier(folder, folder)
    assert sorted(folder.iterdir()) == before


def test_an_empty_document_is_one():
    document = Document("t", "", (), (Section("s"),), "")
    assert document.markdown() == "# t\n\n## s\n"
    assert Reading(document.html().html).tags >= {"h1", "h2"}


def test_a_dossier_says_that_bounds_were_learnt(tmp_path):
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"x": rng.gamma(4, 10, 20_000)})
    schema = vdp.fit_bounds(people, vdp.Schema({"x": vdp.Bounded(0, 1000)}), epsilon=4, key=KEY)
    with pytest.warns(vdp.errors.ClampedWarning):
        vdp.calibrate(schema, epsilon=4).release(people, key=KEY).save(tmp_path / "out")
    vdp.dossier(tmp_path / "out", tmp_path / "dossier")
    for name in ("annex.md", "registry.json"):
        text = (tmp_path / "dossier" / name).read_text()
        assert "Bounds were learnt from these records with noise" in text
        assert "declared beforehand" not in text
        assert "Bounds, levels and noise were set without" not in text
    assert "other than as is stated" in (tmp_path / "dossier" / "label.md").read_text()
