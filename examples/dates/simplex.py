# SPDX-License-Identifier: Apache-2.0
"""The weights of branches are not negative and sum to one: they lie on a simplex."""


def onto_simplex(values):
    """The point of the simplex that is nearest to values.

    All values are lowered by one threshold, and those that fall below zero become zero. Of the
    largest values, as many stay as are above the threshold that makes just them sum to one."""
    total, threshold = 0.0, 0.0
    for count, value in enumerate(sorted(values, reverse=True), 1):
        total += value
        if value > (total - 1) / count:
            threshold = (total - 1) / count
    return [max(value - threshold, 0.0) for value in values]
