# SPDX-License-Identifier: Apache-2.0
"""Which layers share their attention: blocks of layers that attend to nearly the same."""


def similarity_of_block(similarity, first, last):
    """The mean over all pairs of different layers from first to last."""
    layers = range(first, last + 1)
    pairs = [similarity[i][j] for i in layers for j in layers if i != j]
    return sum(pairs) / len(pairs)


def sharing_policy(similarity, theta):
    """The sizes of the blocks: from the first layer on, each block is the largest whose layers are
    more similar than theta."""
    sizes, layers = [], len(similarity)
    while sum(sizes) < layers:
        first = sum(sizes)
        sizes.append(next((last - first + 1 for last in range(layers - 1, first, -1)
                           if similarity_of_block(similarity, first, last) > theta), 1))
    return sizes
