"""All outputs of blocks on lattices with their probabilities, written from the law alone."""

import itertools

import numpy as np


def kept_outputs(last, window, unseen, place):
    """Return the outputs of a kept value at a lattice point; of a missing one (None) its own and the middle ones."""
    if place is not None:
        return set(range(place, place + window))
    middle = (last + window - (window - unseen)) // 2
    return {*range(last + window, last + window + unseen), *range(middle, middle + window - unseen)}


def every_output(block, record):
    """Return all released values of a window block, (columns, outputs), and how likely each is for a record.

    The record has whole numbers of lattice steps by column, None for what is missing.
    """
    sizes, kept = [], []
    for m, w, s, name in zip(block.last, block.window, block.unseen, block.columns, strict=True):
        sizes.append(m + w + s)
        kept.append(kept_outputs(m, w, s, None if record[name] is None else int(record[name])))
    places = np.array(list(itertools.product(*(range(size) for size in sizes))), dtype=float).T
    inside = np.ones(places.shape[1], bool)
    for z, own in zip(places, kept, strict=True):
        inside &= np.isin(z, list(own))
    chance = block.keep * inside / np.prod(block.window) + (1 - block.keep) / np.prod(sizes)
    block.to_values(places)
    return places, chance


def together(blocks, record):
    """Return the same of several blocks, each with a coin of its own."""
    each = [every_output(block, record) for block in blocks]
    index = np.array(list(itertools.product(*(range(chance.size) for _, chance in each)))).T
    values = np.concatenate([places[:, at] for (places, _), at in zip(each, index, strict=True)])
    return values, np.prod([chance[at] for (_, chance), at in zip(each, index, strict=True)], axis=0)
