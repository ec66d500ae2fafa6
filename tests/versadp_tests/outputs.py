"""All outputs of blocks on lattices with their probabilities, written from the law alone."""

import itertools

import numpy as np


def every_output(block, record):
    """Return all released values of a window block, (columns, outputs), and how likely each is for a record.

    The record has whole numbers of lattice steps by column, None for what is missing.
    """
    sizes, firsts = [], []
    for m, w, null, name in zip(block.last, block.window, block.nulls, block.columns, strict=True):
        sizes.append(m + w * (2 if null is True else 1))
        firsts.append(m + w if record[name] is None else record[name])
    places = np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=float).T
    inside = np.ones(places.shape[1], bool)
    for z, first, w in zip(places, firsts, block.window, strict=True):
        inside &= (z >= first) & (z < first + w)
    chance = block.keep * inside / np.prod(block.window) + (1 - block.keep) / np.prod(sizes)
    block.to_values(places)
    return places, chance


def together(blocks, record):
    """Return the same of several blocks, each with a coin of its own."""
    each = [every_output(block, record) for block in blocks]
    index = np.array(list(itertools.product(*(range(chance.size) for _, chance in each)))).T
    values = np.concatenate([places[:, at] for (places, _), at in zip(each, index, strict=True)])
    return values, np.prod([chance[at] for (_, chance), at in zip(each, index, strict=True)], axis=0)
