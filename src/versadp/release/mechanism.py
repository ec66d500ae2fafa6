"""A mechanism: a schema, and noise on its private columns.

It is a product of independent blocks (`noise/block.py`), each on its own columns; public columns are the identity.
Accounting composes the blocks, correction multiplies the inverses of those that an analysis touches.

    Mechanism(schema, noise={"age": Window(epsilon=2), ("income", "score"): ZeroInflated(scale=0.5)})
    Mechanism(schema, scale=0.25, exact_rate=0.2, keep=0.5)

The second is short for the paper's mechanism: `ZeroInflated` on all numbers together, `Response` on each category.

**Versions.** A mechanism carries the version of its format. One that was read from version 1 (JSON, manifest or ledger)
keeps version 1's dictionary and its derivation of noise for ever, so that an old release can go on. Version 3 differs
from version 2 on devices only: there each block's noise is keyed by that block's values, and not by the whole record.
Version 4 (`docs/format.md`) states the integers that follow from each block's law, keys a block on devices by its own
law, and releases the same floats on every CPU. Tables have the same words since version 2: the same key and content
never get a second noise by an upgrade.
"""

from __future__ import annotations

import json
import unicodedata
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

from versadp import inputs
from versadp.errors import InsecureWarning, KeyMaterialError, ParameterError, find_stacklevel
from versadp.inputs import is_encodable
from versadp.noise import Block, Spec, spec_from_dict
from versadp.noise.settings import check_rate
from versadp.privacy.target import Target
from versadp.release.blocks import put_on, released_schema, short_form, spelled
from versadp.release.totals.features import MOST_FEATURES, SHEETS, features_of
from versadp.release.totals.law import TotalsLaw
from versadp.release.totals.nodes import POSITION_UNITS
from versadp.schema import Schema
from versadp.schema.reserved import refuse_reserved

if TYPE_CHECKING:
    from versadp.engine import Engine
    from versadp.privacy import PrivacyProfile
    from versadp.release.path.noised import Layout
    from versadp.release.release import Release
    from versadp.release.totals.count import RunningTotals
    from versadp.release.totals.features import Features

    Noise = Mapping[str | tuple[str, ...], Spec]

FORMAT, VERSION = "versadp mechanism", 4
VERSIONS = (1, 2, 3, VERSION)


class Mechanism:
    """Noise on the private columns of a schema.

    Parameters
    ----------
    schema : Schema
    scale : float or mapping of column to float, optional
        Short for zero-inflated Laplace noise on all numbers together: noise scale relative to each column's width.
    exact_rate : float
        Probability in [0, 1) that a record's numbers are released unchanged. 0 is the symmetric Laplace mechanism,
        which serves smooth losses only.
    keep : float or mapping of column to float, optional
        Short for randomised response on each category: probability in [0, 1) that it is not redrawn.
    noise : mapping of column, or tuple of columns, to Spec, optional
        In place of the three: noise for each private column, or jointly for several.
    target : Target, optional
        What it was calibrated for. It is remembered, and is no part of the noise.
    totals : TotalsLaw, optional
        Noisy totals of all people that are released beside the records (`docs/theory/totals.md`).

    Examples
    --------
    >>> from versadp import Bounded, Categorical, Schema, noise
    >>> schema = Schema({"age": Bounded(18, 90), "region": Categorical(["n", "s"])})
    >>> mech = Mechanism(schema, scale=0.25, exact_rate=0.2, keep=0.5)
    >>> Mechanism.from_json(mech.to_json()) == mech
    True
    >>> mech == Mechanism(schema, noise={"age": noise.ZeroInflated(0.25, 0.2), "region": noise.Response(0.5)})
    True
    """

    def __init__(
        self,
        schema: Schema,
        scale: float | Mapping[str, float] | None = None,
        exact_rate: float = 0.0,
        keep: float | Mapping[str, float] | None = None,
        *,
        noise: Noise | None = None,
        target: Target | None = None,
        totals: TotalsLaw | None = None,
    ) -> None:
        if not isinstance(schema, Schema):
            raise ParameterError("a mechanism needs a Schema", hint='e.g. Schema({"age": Bounded(18, 90)})')
        if not schema.private:
            raise ParameterError("every column is public: there is nothing to protect")
        self._exact_rate = None
        if noise is None:
            self._exact_rate = check_rate("exact_rate", exact_rate)  # also where no column uses it
            noise = short_form(schema, scale, exact_rate, keep)
        elif scale is not None or exact_rate or keep is not None:
            raise ParameterError("give noise=, or scale, exact_rate and keep, which are short for it", hint="not both")
        self._schema = schema
        self._blocks = put_on(schema, noise)
        self._target = target
        self._version = VERSION
        self._totals = totals
        if totals is not None:
            _check_totals(totals, self.totals_features)
        _refuse_unnormalised(schema)

    @property
    def schema(self) -> Schema:
        """The columns."""
        return self._schema

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The noise, block after block."""
        return self._blocks

    @cached_property
    def released_schema(self) -> Schema:
        """The columns as released tables have them: what a record does not give is missing, as all can see."""
        return released_schema(self._schema, self._blocks)

    @cached_property
    def layout(self) -> Layout:
        """Places of each block's columns and words."""
        from versadp.release.path.noised import Layout

        return Layout(self._blocks, fused=self._version < 4)

    @cached_property
    def block_laws(self) -> tuple[bytes, ...]:
        """Law of each block in typed bytes, on which its words on a device depend since version 4."""
        from versadp.release.path.device_words import block_law

        return tuple(block_law(block, self._schema) for block in self._blocks)

    @property
    def target(self) -> Target | None:
        """Target that it was calibrated for, if it was."""
        return self._target

    @property
    def totals(self) -> TotalsLaw | None:
        """Noise of the totals that are released beside the records; None if there are none."""
        return self._totals

    @cached_property
    def totals_features(self) -> Features:
        """Features of the totals, or of those that could be."""
        names = None if self._totals is None else self._totals.columns
        return features_of(self._blocks, self._schema, names)

    @property
    def version(self) -> int:
        """Version of the format, which decides how noise is derived."""
        return self._version

    @property
    def scale(self) -> dict[str, float]:
        """Noise scale of each column that has one, relative to its width."""
        return {name: value for block in self._blocks for name, value in block.parameter("scale").items()}

    @property
    def exact_rate(self) -> float:
        """Probability that a record's numbers are released unchanged: the largest of its blocks'."""
        if self._exact_rate is not None:
            return self._exact_rate
        return max((value for block in self._blocks for value in block.parameter("exact_rate").values()), default=0.0)

    @property
    def keep(self) -> dict[str, float]:
        """Probability that each category is not redrawn, for those that may be."""
        return {name: value for block in self._blocks for name, value in block.parameter("keep").items()}

    @property
    def sampler_error(self) -> float:
        """Bound on the total-variation distance between a record's noise and the ideal: blocks are independent."""
        return sum(block.sampler_error for block in self._blocks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash(self.parameters)

    def __repr__(self) -> str:
        parts = [f"{len(self._schema.numeric)} numeric, {len(self._schema.categorical)} categorical columns"]
        for name in dict.fromkeys(name for block in self._blocks for name in block.spec.telling()):
            values = sorted({value for block in self._blocks for value in block.parameter(name).values()})
            if values:
                parts.append(f"{name}={values[0]:g}" + (f"..{values[-1]:g}" if len(values) > 1 else ""))
        return f"<Mechanism: {', '.join(parts)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and numbers."""
        head = {"format": FORMAT, "version": self._version, "schema": self._schema.to_dict()}
        if self._version == 1:
            return head | {"scale": self.scale, "exact_rate": self.exact_rate, "keep": self.keep}
        target = None if self._target is None else self._target.to_dict()
        blocks = [block.to_dict() for block in self._blocks]
        if self._version >= 4:
            blocks = [
                {name: _never_null(name, value) for name, value in entry.items()} | {"derived": block.derived()}
                for entry, block in zip(blocks, self._blocks, strict=True)
            ]
        totals = {} if self._totals is None else {"totals": self._totals.to_dict()}
        return head | {"blocks": blocks, "target": target} | totals

    @classmethod
    def from_dict(cls, data: Any) -> Mechanism:
        """Read what `to_dict` wrote."""
        known = isinstance(data, Mapping) and data.get("format") == FORMAT
        if not known or type(data.get("version")) is not int or data["version"] not in VERSIONS:
            raise ParameterError("this is not a mechanism, or one of a version that this versadp does not know")
        version: int = data["version"]
        names = ("scale", "exact_rate", "keep") if version == 1 else ("blocks", "target")
        extra = {"totals"} & set(data) if version >= 4 else set()
        if set(data) != {"format", "version", "schema", *names, *extra}:
            raise ParameterError(f"a mechanism has schema, {', '.join(names)}, nothing more")
        schema = _schema_of(data)
        if version == 1:
            return cls._old(1, schema, *(data[name] for name in names))
        if not isinstance(data["blocks"], list) or not all(isinstance(block, Mapping) for block in data["blocks"]):
            raise ParameterError("a mechanism has a list of blocks")
        if version < 4 and any("missing" in block for block in data["blocks"]):
            raise ParameterError("places of missing values came with version 4 of a mechanism")
        specs = [spec_from_dict(_without_derived(block) if version >= 4 else block) for block in data["blocks"]]
        if len({columns for _, columns in specs}) < len(specs):
            raise ParameterError("a mechanism has one block for each of its columns")
        target = None if data["target"] is None else Target.from_dict(data["target"])
        noise: Noise = {columns: spec for spec, columns in specs}
        if version < 4:
            return cls._old(version, schema, noise=noise, target=target)
        totals = TotalsLaw.from_dict(data["totals"]) if extra else None
        mechanism = cls(schema, noise=noise, target=target, totals=totals)
        _check_derived(data["blocks"], mechanism.blocks)
        return mechanism

    @classmethod
    def _old(cls, version: int, *args: Any, **kwargs: Any) -> Mechanism:
        """Return a mechanism of an older version, whose names may be in any Unicode form."""
        with _any_form():
            return cls(*args, **kwargs).in_version(version)

    def in_version(self, version: int) -> Mechanism:
        """Return the same noise law in another version of the format, whose noise is derived otherwise."""
        if version not in VERSIONS:
            raise ParameterError(f"there is no version {version} of a mechanism")
        if version < 4 and self._schema.rows_per_person > 1:
            raise ParameterError("several rows per person need a mechanism of version 4", hint="leave it in version 4")
        if version < 4 and (self._schema.bounds is not None or self._schema.as_declared() is not self._schema):
            raise ParameterError("learnt bounds need a mechanism of version 4", hint="leave it in version 4")
        if version < 4 and self._totals is not None:
            raise ParameterError("totals need a mechanism of version 4", hint="leave it in version 4")
        noise: dict[str | tuple[str, ...], Spec] = {block.columns: block.spec for block in self._blocks}
        if version < 4 and any("missing" in spec.to_dict() for spec in noise.values()):
            raise ParameterError("places of missing values need a mechanism of version 4", hint="leave it in version 4")
        if version == 1 and list(noise.items()) != spelled(self._schema, self.scale, self.exact_rate, self.keep):
            raise ParameterError("version 1 knows zero-inflated noise on all numbers and response on categories only")
        target = self._target if version > 1 else None
        if version < 4:
            with _any_form():
                other = Mechanism(self._schema, noise=noise, target=target)
        else:
            other = Mechanism(self._schema, noise=noise, target=target, totals=self._totals)
        other._version, other._exact_rate = version, self._exact_rate
        return other

    def to_json(self) -> str:
        """Return the mechanism as JSON: the same mechanism gives the same text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Mechanism:
        """Read what `to_json` wrote."""
        try:
            data = json.loads(text, object_pairs_hook=_once)
        except ParameterError:
            raise
        except (ValueError, RecursionError, TypeError):  # ValueError also for whole numbers of thousands of digits
            raise ParameterError("the mechanism is not valid JSON") from None
        return cls.from_dict(data)

    def __reduce__(self) -> tuple[object, ...]:
        return (Mechanism.from_json, (self.to_json(),))

    @cached_property
    def parameters(self) -> bytes:
        """All that the noise depends on, beside key and content: two mechanisms never share noise."""
        law = {name: value for name, value in self.to_dict().items() if name != "target"}
        law["version"] = min(self._version, 2)  # tables have the same noise since
        if self._version > 1:
            law["blocks"] = [block.to_dict() for block in self._blocks]
        grids = [block.grid() for block in self._blocks]
        if self._version == 1:
            return json.dumps([law, [m for grid in grids for m in grid.values()]], ensure_ascii=False).encode()
        return json.dumps([law, grids], ensure_ascii=False).encode()

    def privacy(self, unit: str | None = None, *, shuffled: int | None = None) -> PrivacyProfile:
        """Return what the mechanism guarantees.

        Parameters
        ----------
        unit : {"person", "record", "attribute"}, optional
            Protect a person with all rows (the group bound of a record's), a whole record (all blocks composed), or
            one attribute of it (the worst block). By default a record; a person where the schema allows several rows
            per person (`rows_per_person`). Where it allows one, the two are the same.
        shuffled : int, optional
            For a release of so many records in an order that tells nothing, as `release` makes it by default: among
            them a record hides. With public columns it is the number of people in the smallest group with equal
            public values. Only noise that keeps or redraws, or is pure, gains by it; see `docs/theory/shuffle.md`.

        Examples
        --------
        >>> from versadp import Bounded, Schema, noise
        >>> mech = Mechanism(Schema({"age": Bounded(18, 90)}), noise={"age": noise.Window(epsilon=4)})
        >>> round(mech.privacy().epsilon(1e-6), 3), round(mech.privacy(shuffled=100_000).epsilon(1e-6), 3)
        (4.0, 0.114)
        """
        from versadp.release.target.accounting import mechanism_privacy

        return mechanism_privacy(self, unit, shuffled)

    def to_opendp(self, epsilon: float) -> Any:
        """Return an OpenDP measurement that releases a table, at the (epsilon, delta) that holds for a record.

        Where people have several rows it holds for a person.

        Needs the extra `versadp[accounting]`. OpenDP trusts a function written in Python ("honest-but-curious").

        Parameters
        ----------
        epsilon : float
            Where delta is read off the exact curve.
        """
        from versadp.privacy import opendp_measurement

        delta = self.privacy().delta(epsilon)
        return opendp_measurement(lambda frame: self.release(frame).frame, epsilon=epsilon, delta=delta)

    def statement(self, *, reports: int | None = None) -> str:
        """Return the guarantee in words.

        Parameters
        ----------
        reports : int, optional
            For records that devices release (`privatize`): how many reports with different values a person may send.
        """
        from versadp.release.target.statement import device_statement, privacy_statement

        return privacy_statement(self) if reports is None else device_statement(self, reports)

    def release(
        self,
        frame: Any,
        *,
        shuffle: bool = True,
        keep_rows: int | None = None,
        key: bytes | None = None,
        insecure_seed: int | None = None,
        engine: str | Engine = "auto",
    ) -> Release:
        """Release a table: add noise to every private column, once.

        Parameters
        ----------
        frame : pandas.DataFrame, polars.DataFrame or pyarrow.Table
            Every column of the schema, and nothing else; the same kind comes back in `Release.frame`.
        shuffle : bool
            Sort the rows by a public hash of what is released, so that their order tells nothing and they hide one
            another. False leaves them where they are, which assumes that a row's place does not depend on private
            values: twenty thousand incomes in sorted order are read off by a moving average.
        keep_rows : int, optional
            Keep at most so many rows of each person, no more than the schema's `rows_per_person`; the key chooses
            which. By default people with more rows than the schema allows are refused.
        key : bytes, optional
            32 secret random bytes. The same key, mechanism and content give the same bytes again; without a key a
            fresh one is drawn and forgotten.
        insecure_seed : int, optional
            For research only: a small number in place of a key. Whoever guesses it removes the noise; the release is
            stamped as insecure.
        engine : str or Engine
            Where the work runs.

        Warns
        -----
        ClampedWarning
            Values outside the declared bounds were moved to the nearest bound.
        RowsLeftOutWarning
            Some people have more rows than are kept.
        UselessWarning
            Under calibrated noise so many records tell no mean of any column within a tenth of its range.
        DeltaWarning
            The target's delta is at least one over the number of people.
        """
        from versadp.engine import as_engine, local_engine
        from versadp.noise.words import check_key, fresh_key, keystream
        from versadp.release.path.noised import noise_table
        from versadp.release.path.order import KEPT, in_order, order_of
        from versadp.release.path.rows import check_keep, kept, row_versions
        from versadp.release.path.table import build_frame, read_table, released_columns, survey, warn_outside
        from versadp.release.release import Release
        from versadp.release.target.usefulness import warn_delta, warn_useless
        from versadp.release.totals.noise import noisy_totals

        if key is not None and insecure_seed is not None:
            raise KeyMaterialError("give a key or an insecure_seed, not both")
        secret = fresh_key() if key is None else key
        if insecure_seed is not None:
            secret = _seed_key(insecure_seed)
        table = read_table(frame, self._schema, any_rows=keep_rows is not None)
        if keep_rows is not None:
            check_keep(keep_rows, self._schema)
            table = kept(self, table, check_key(secret), keep_rows)
        order = order_of(table.shown(self._schema), table.rows) if shuffle else KEPT
        order.check(self)
        if self._target is not None:  # noise by hand is for those who know what they do
            warn_useless(self, table.rows)
            warn_delta(self._target, table.rows // self._schema.rows_per_person)  # people, at least
        warn_outside(survey(table, self._schema))
        stream = keystream(secret, self.parameters)
        rows = row_versions(self, table, secret)
        running = self.running_totals()
        where = local_engine(as_engine(engine))
        noised = noise_table(self.layout, table, stream, where, versions=rows, totals=running)
        columns = released_columns(noised, table.public, self.released_schema)
        if shuffle:
            columns = in_order(columns)
        made = None if running is None else (noisy_totals(self, running.sums, table.rows, check_key(secret)),)
        insecure = insecure_seed is not None
        return Release(build_frame(columns, table.kind), self, insecure=insecure, order=order, totals=made)

    def running_totals(self) -> RunningTotals | None:
        """Return an empty sum of the totals; None if there are none."""
        if self._totals is None:
            return None
        from versadp.release.totals.count import RunningTotals

        return RunningTotals(self.totals_features, self.layout.columns)

    def without_totals(self) -> Mechanism:
        """Return the same noise of records without totals: for devices, and for records that came from elsewhere."""
        return self if self._totals is None else self.with_totals(None)

    def with_totals(self, law: TotalsLaw | None) -> Mechanism:
        """Return the same noise of records with totals, or without."""
        noise: Noise = {block.columns: block.spec for block in self._blocks}
        return Mechanism(self._schema, noise=noise, target=self._target, totals=law)

    def privatize(self, record: Mapping[str, Any], *, key: bytes, context: str = "") -> dict[str, Any]:
        """Release one record, on the person's own device.

        The same record gives the same answer for ever, so asking again reveals nothing more. The key is the device's
        own and never leaves it. Where a record changes, blocks whose values did not change keep their noise, so they
        cost nothing again. **That a block changed, or came back to an earlier value, shows and is not protected**; what
        is protected are the values. T reports with different values in a block cost what T releases do:
        ``mech.privacy(unit).compose(T)``, in words `statement(reports=T)`. **Each of these is a further report too**:
        another law of the block (epsilon, bounds, levels, name), another context, a new key after the old one was
        lost, a second device.

        Parameters
        ----------
        record : mapping of column to value
            With the id column if the schema has one.
        key : bytes
            32 secret random bytes.
        context : str
            Name of the collector. Collectors with different contexts get independent noise, so that they cannot link
            answers; together they have as many reports as there are contexts. Needs a mechanism of version 4.

        Warns
        -----
        ClampedWarning
            Values outside the declared bounds were moved to the nearest bound.

        Examples
        --------
        >>> from versadp import Bounded, Schema, noise
        >>> schema = Schema({"age": Bounded(18, 90), "income": Bounded(0, 5e5)})
        >>> mech = Mechanism(schema, noise=dict.fromkeys(["age", "income"], noise.Window(epsilon=2)))
        >>> key = bytes(range(32))  # a real one comes from versadp.fresh_key()
        >>> one, two = (mech.privatize({"age": 41, "income": income}, key=key) for income in (30_000, 35_000))
        >>> one["age"] == two["age"], one["income"] == two["income"]
        (True, False)
        >>> round(mech.privacy("attribute").compose(3).epsilon(1e-6), 3)  # of an attribute with three values in turn
        6.0
        """
        from versadp.release.path.record import privatize

        return privatize(self, record, key, context)


_ANY_FORM: ContextVar[bool] = ContextVar("versadp_any_unicode_form", default=False)


@contextmanager
def _any_form() -> Iterator[None]:
    """Allow names in any Unicode form, for mechanisms of versions 1 to 3."""
    token = _ANY_FORM.set(True)
    try:
        yield
    finally:
        _ANY_FORM.reset(token)


def _check_totals(law: TotalsLaw, features: Features) -> None:
    """Refuse totals without noise, and such large noise that a total would not fit 64 bits."""
    from versadp.release.totals.noise import MOST_NOISE

    if features.size > MOST_FEATURES:
        raise ParameterError(
            f"there would be {features.size:,} totals, more than {MOST_FEATURES:,}",
            hint="release fewer columns, or calibrate with totals=False",
        )
    for sheet, scale in zip(SHEETS, law.scale, strict=True):
        if (scale > 0) != (features.count(sheet) > 0):
            raise ParameterError(f"the totals' sheet {sheet} is empty, or has no noise")
    if max(law.scale) * 2 * POSITION_UNITS**2 > MOST_NOISE:
        raise ParameterError("the totals have so much noise that they do not fit 64 bits", hint="less of it")


def _refuse_unnormalised(schema: Schema) -> None:
    """Refuse names and levels that are not in Unicode form NFC: two of them may look alike."""
    if _ANY_FORM.get():
        return
    names = [*schema.columns, *schema.omitted, *([] if schema.id is None else [schema.id])]
    levels = [level for name in schema.categorical for level in getattr(schema.columns[name], "levels", ())]
    for what, values in (("column names", names), ("levels", levels)):
        texts = [value for value in values if isinstance(value, str)]
        if not all(map(is_encodable, texts)):
            raise ParameterError(f"{what} must be Unicode text, and one holds half a character", hint="write it anew")
        if not all(unicodedata.is_normalized("NFC", value) for value in texts):
            raise ParameterError(
                f"{what} must be in Unicode form NFC",
                hint='normalise them in the schema and in the data: unicodedata.normalize("NFC", name)',
            )


def _schema_of(data: Mapping[str, Any]) -> Schema:
    """Return the schema of a mechanism's dictionary; reserved fields came with version 4."""
    if data["version"] < 4:
        refuse_reserved(data["schema"])
    return Schema.from_dict(data["schema"])


def _check_derived(entries: list[Any], blocks: tuple[Block, ...]) -> None:
    """Refuse blocks whose stated integers are not what their law gives."""
    for entry, block in zip(entries, blocks, strict=True):
        if not _same(entry["derived"], block.derived()):
            raise ParameterError(
                f"the derived integers of the noise on {', '.join(block.columns)} are not what its law gives",
                hint="fetch the mechanism again; it was changed, or made by another program",
            )


def _never_null(name: str, value: Any) -> Any:
    return {} if value is None and name in {"cells", "window"} else value


def _without_derived(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a block of version 4 without its derived integers, which are checked once the block is made."""
    if "derived" not in entry or any(value is None for value in entry.values()):
        raise ParameterError("a block of a mechanism of version 4 states its derived integers, and nothing is null")
    return {name: value for name, value in entry.items() if name != "derived"}


def _same(found: Any, expected: Any) -> bool:
    """Return True if two JSON values are equal in type and value."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON whose names are all different."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ParameterError("the mechanism's JSON repeats a name", hint="another reader may take the other value")
    return dict(pairs)


def _seed_key(seed: int) -> bytes:
    from hashlib import sha256

    seed = inputs.whole("insecure_seed", seed, -(2**256))
    warnings.warn(
        "insecure_seed is for research: whoever guesses it removes the noise. The release is stamped as insecure.",
        InsecureWarning,
        stacklevel=find_stacklevel(),
    )
    return sha256(f"versadp insecure seed {seed}".encode()).digest()
