"""Description of a table of made-up people, which stands beside the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from versadp.inference.summary import guarantee

if TYPE_CHECKING:
    from versadp.people.people import People


def describe_people(people: People) -> str:
    """Return what the table is, what its weights mean, and what it does not tell."""
    release, count = people.release, people.weights.shape[1]
    facts = "\n".join(f"{key}: {value}" for key, value in guarantee(release).items())
    smoothed = [axis.name for axis in people.law.axes if axis.gap]
    lines = [
        f"Made-up people: {len(people):,} rows that stand for {len(release):,} people, {people.per_row:.6g} each.",
        "No row is a person. Rows follow a law estimated from a private release, and cost no privacy beyond it:",
        facts,
        "",
        "Told well: shares, means and spreads of columns, slopes and tables of two columns in wide cells.",
        "Not promised: cells of three columns and finer ones, tails and extremes, rare levels, single rows.",
        "What the release itself is asked is unbiased and has intervals; people.check(formula) compares the two.",
    ]
    if smoothed:
        lines.append(f"Values of {', '.join(smoothed)} are spread evenly within cells of the law.")
    if count:
        lines.append(
            f"Standard errors: repeat an analysis with each of rep_1 to rep_{count} in place of weight; the root mean "
            "square distance of the answers from that with weight is its standard error. In simulations such intervals "
            "of 95% held the truth of means, spreads, shares and slopes in 85 to 98 of 100 releases, 93 on average. "
            "They are not for cells at the border of the data or beside a pile of equal values, or medians of whole "
            "numbers: 70 to 80 of 100 there."
        )
        lines.append(
            'In R: survey::svrepdesign(data = d, weights = ~weight, repweights = "^rep_", type = "bootstrap", '
            f"scale = 1/{count}, rscales = 1, combined.weights = TRUE, mse = TRUE)"
        )
    else:
        lines.append(
            "There are no replicate weights: standard errors that treat the rows as people are too small. Ask the "
            "release itself for standard errors: vdp.fit, vdp.describe, vdp.table."
        )
    if people.copies > 1:
        lines.append(
            f"Each row stands {people.copies} times, so that none is unique; that is cosmetic, and hides nobody better."
        )
    return "\n".join(lines)
