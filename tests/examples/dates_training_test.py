#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the training of examples/dates computes by itself: no library is needed for it."""

import random
import sys
import unittest
from pathlib import Path

DATES = Path(__file__).parents[2] / "examples" / "dates"
sys.path.insert(0, str(DATES))

from policy import sharing_policy, similarity_of_block
from simplex import onto_simplex

# Six decoder layers, each row what follows the diagonal.
SELF = [[.5429, .5138, .4650, .5005, .5531], [.0606, .0630, .0703, .0332], [.0671, .0472, .0296],
        [.0176, .0552], [.0389]]
CROSS = [[.0175, .2239, .3933, .7986, .3603], [.1442, .3029, .7295, .3324], [.0971, .6270, .4163],
         [.2385, .2022], [.0658]]
POLICIES = {.40: ([6], [6]), .60: ([6], [6]), .70: ([6], [4, 2]), .80: ([1, 5], [4, 2]),
            .85: ([1, 5], [3, 1, 2]), .90: ([1, 5], [2, 2, 2]), .95: ([1, 5], [2, 1, 1, 1, 1]),
            .98: ([1, 1, 1, 2, 1], [2, 1, 1, 1, 1])}


def symmetric(above):
    """The similarities of layers with these divergences above the diagonal."""
    layers = range(len(above) + 1)
    at = lambda i, j: 1.0 if i == j else 1 - above[min(i, j)][abs(i - j) - 1]
    return [[at(i, j) for j in layers] for i in layers]


class Simplex(unittest.TestCase):
    def near(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            self.assertAlmostEqual(one, other, places=12)

    def test_known_points(self):
        self.near(onto_simplex([.5, .5, .5]), [1 / 3, 1 / 3, 1 / 3])
        self.near(onto_simplex([1.2, -.1, .3]), [.95, 0, .05])
        self.near(onto_simplex([.9, .8, .1, -.4]), [.55, .45, 0, 0])
        self.near(onto_simplex([7.0]), [1])

    def test_points_of_the_simplex_stay(self):
        for point in [[1, 0, 0], [.25, .25, .25, .25], [.125, .5, .375]]:
            self.assertEqual(onto_simplex(point), point)

    def test_no_point_of_the_simplex_is_nearer(self):
        """p is nearest to v when (v - p) (q - p) <= 0 for every corner q of the simplex."""
        draw = random.Random(1)
        for _ in range(300):
            values = [draw.uniform(-2, 2) for _ in range(draw.randint(1, 9))]
            point = onto_simplex(values)
            self.assertAlmostEqual(sum(point), 1, places=12)
            self.assertGreaterEqual(min(point), 0)
            along = sum((v - p) * p for v, p in zip(values, point))
            for value, coordinate in zip(values, point):
                self.assertLessEqual(value - coordinate - along, 1e-12)


class Policy(unittest.TestCase):
    def test_published_matrices(self):
        for theta, (self_blocks, cross_blocks) in POLICIES.items():
            self.assertEqual(sharing_policy(symmetric(SELF), theta), self_blocks)
            self.assertEqual(sharing_policy(symmetric(CROSS), theta), cross_blocks)

    def test_similarity_of_a_block(self):
        for above, first, last, wanted in [(SELF, 0, 1, .4571), (SELF, 0, 5, .7961),
                                           (SELF, 1, 5, .9517), (CROSS, 0, 3, .8035),
                                           (CROSS, 4, 5, .9342)]:
            self.assertAlmostEqual(similarity_of_block(symmetric(above), first, last), wanted, delta=5e-5)

    def test_a_block_must_be_more_similar_than_theta(self):
        pair = [[1, .75], [.75, 1]]
        self.assertEqual(sharing_policy(pair, .75), [1, 1])
        self.assertEqual(sharing_policy(pair, .7499), [2])
        self.assertEqual(sharing_policy([[1]], .5), [1])


if __name__ == "__main__":
    unittest.main()
