r"""Standard errors in closed form, for linear regression under noise that keeps or redraws values.

Let v be the covariates and the response, centred, `alpha = (theta, -1)`, and e the released v. The corrected score is
``S_j = sum_l Psi_jl alpha_l``, where ``Psi_jl = W_jl e_j e_l + H_jl`` is unbiased for `v_j v_l`: W has one weight per
block, the product of two across blocks, and 1 without noise. So

    S_j = e_j q_j + h_j,     q_j = sum_l W_jl alpha_l e_l,     h = H alpha,
    n var(theta_hat) = V⁻¹ (E S S') V⁻¹,     V = E v v'

Given v and whether each block keeps or redraws (`State`), the e_l are independent, each a mean plus a symmetric draw,
so that `E e_j q_j e_k q_k` is a polynomial of their moments. It is averaged over simulated people.
"""

from __future__ import annotations

import math
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from versadp.noise.cases import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from versadp.noise import Block
    from versadp.noise.cost import State
    from versadp.planning.simulate import People
    from versadp.release.mechanism import Mechanism

    Array = NDArray[np.float64]

PEOPLE = 40_000  # simulated people over whom moments are averaged: standard errors are then off by about 1%
BATCHES = 8  # of them, from whose differences that error is estimated, itself with a relative error of 27%
MOST_BLOCKS = 6  # whose 2^6 combinations of keeping and redrawing are enumerated; more are simulated


def closed_form(people: People, mechanism: Mechanism, theta: Array, seed: int = 11) -> tuple[Array, Array] | None:
    """Return n times the covariance of coefficients and the relative error of each standard error, or None.

    There is no closed form for other losses, functions of noisy columns, categories, missing values, models without an
    intercept, noise that does not keep or redraw, or more than a few blocks.

    Parameters
    ----------
    people : People
    mechanism : Mechanism
    theta : array (p,)
        Coefficients of the population.
    seed : int
        Seed of the simulated people.

    Examples
    --------
    >>> from versadp import Bounded, Public, Schema, calibrate
    >>> from versadp.planning.assumptions import Assumptions
    >>> from versadp.planning.simulate import make_people
    >>> schema = Schema({"x": Bounded(-1, 1), "y": Public()})
    >>> people = make_people(schema, "y ~ x", "squared", Assumptions(coefficients={"x": 1.0}, residual=0.5))
    >>> cov, _ = closed_form(people, calibrate(schema, epsilon=4), people.theta)
    >>> bool(np.sqrt(cov[1, 1]) > 0.5 * np.sqrt(3))  # without noise
    True
    """
    design, used = people.design, set(people.design.used)
    plain = people.loss.quadratic and design.linear and "Intercept" in design.names and not design.private
    blocks = [block.part(used) for block in mechanism.blocks if used & set(block.columns)]
    if not plain or not blocks or len(blocks) > MOST_BLOCKS or any(block.states() is None for block in blocks):
        return None
    columns = people.draw(PEOPLE, [seed, 0x5EED])
    m, y = design.evaluate(columns)
    layout = _Layout(people, blocks)
    v = np.column_stack([m, y]) - layout.centre
    alpha = np.append(theta, -1.0)
    alpha[design.names.index("Intercept")] += float(alpha @ layout.centre)
    covs = [_covariance(part, alpha, layout) for part in np.array_split(v, BATCHES)]
    cov = np.mean(covs, axis=0)
    back = np.eye(len(theta))  # back to columns that are not centred
    back[design.names.index("Intercept")] -= layout.centre[:-1]
    covs = [back @ each @ back.T for each in covs]
    cov = np.mean(covs, axis=0)
    spread = np.std([np.diag(each) for each in covs], axis=0, ddof=1) / math.sqrt(BATCHES)
    return cov, spread / np.diag(cov) / 2


class _Layout:
    """Positions of the noisy columns among covariates and response, and the corrections of their products."""

    def __init__(self, people: People, blocks: list[Block]) -> None:
        design, numeric = people.design, people.schema.numeric
        names = [numeric[j] if j >= 0 else None for j in (*design.columns, design.response)]
        self.size = len(names)
        self.centre, self.shift = np.zeros(self.size), np.zeros((self.size, self.size))
        own, block_of = np.ones(self.size), np.full(self.size, -1)
        self.states: list[tuple[State, ...]] = []
        self.places: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        for b, block in enumerate(blocks):
            found, states = whole(block), block.states()
            assert found is not None
            assert states is not None
            inverse = found.products()
            here = np.array([j for j, name in enumerate(names) if name in block.columns], dtype=np.int64)
            there = np.array([block.columns.index(names[j] or "") for j in here], dtype=np.int64)
            self.centre[here], own[here], block_of[here] = inverse.centre[there], inverse.weight, b
            self.shift[np.ix_(here, here)] = inverse.shift[np.ix_(there, there)]
            self.states.append(states)
            self.places.append((here, there))
        same = (block_of[:, None] == block_of) & (block_of >= 0)
        self.weight = np.where(same, own[:, None], np.outer(own, own))


def _covariance(v: Array, alpha: Array, layout: _Layout) -> Array:
    """Return n times the covariance of the coefficients of centred columns, averaged over some people."""
    p = layout.size - 1
    a = layout.weight[:p] * alpha
    h = (layout.shift @ alpha)[:p]
    total, first = np.zeros((p, p)), np.zeros(p)
    for coins in product(*layout.states):
        share = math.prod(state.share for state in coins)
        mean, second, fourth = v.copy(), np.zeros(p + 1), np.zeros(p + 1)
        for state, (here, there) in zip(coins, layout.places, strict=True):
            mean[:, here] *= state.keeps
            second[here], fourth[here] = state.second[there], state.fourth[there]
        squares, means = _given_coins(mean, second, fourth, a)
        total, first = total + share * squares, first + share * means
    score = total + np.outer(first, h) + np.outer(h, first) + np.outer(h, h)
    score -= np.outer(first + h, first + h)  # 0 up to Monte Carlo error
    bend = v[:, :p].T @ v[:, :p] / len(v)
    return np.asarray(np.linalg.solve(bend, np.linalg.solve(bend, score).T))


def _given_coins(mean: Array, second: Array, fourth: Array, a: Array) -> tuple[Array, Array]:
    """Return `E e_j q_j e_k q_k` and `E e_j q_j`, where e_l is its mean plus a symmetric draw and q = a e."""
    p, rows = len(a), len(mean)
    q, x = mean @ a.T, mean[:, :p]
    s, f, own, square = second[:p], fourth[:p], np.diag(a), a[:, :p]
    both, xq = x * q, x.T @ q / rows
    noise = (a * second) @ a.T  # of q_j with q_k
    first = both.mean(axis=0)
    cross = np.outer(first, own * s) + xq * square * s  # x_j times E eps_k (q_j + eta_j)(q_k + eta_k)
    out = both.T @ both / rows + (x.T @ x / rows) * noise + cross + cross.T
    out += np.diag(s * (q**2).mean(axis=0))
    apart = (np.outer(own, own) + square * square.T) * np.outer(s, s)
    alike = own**2 * f + s * (np.diag(noise) - own**2 * s)
    np.fill_diagonal(apart, alike)
    return out + apart, first + own * s
