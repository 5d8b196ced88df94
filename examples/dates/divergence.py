#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How similar the layers of a model are in what they attend to.

    divergence.py MODEL --input FILE [--theta T] [--output FILE.json]

FILE has a line of text for each sentence, which is normalised by greedy search. For any two layers,
each row of each head has two distributions over the same keys; 1 less their Jensen-Shannon
divergence in bits, between 0 and 1, is averaged over heads and rows, every row with the same
weight: 1 is equal attention, 0 has nothing in common. The rows of
the decoder are those that a search computes: from <s> to the token before </s>. With --theta, the
policy of sharing that follows (policy.py).
"""

import argparse
import json
import math
import sys
from pathlib import Path

import torch

from policy import sharing_policy
from train import load, padded
from transformer import BOS, EOS, PAD

LONGEST, GROUP = 48, 50
ATTENTION = {"encoder": "self_attention", "decoder": "self_attention", "cross": "cross_attention"}


def probabilities(query, key, hidden):
    """[batch, heads, rows, keys], where not hidden."""
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    return scores.masked_fill(hidden, -math.inf).softmax(-1)


def entropy(distribution):
    """In bits, over the last dimension."""
    return torch.special.entr(distribution).sum(-1) / math.log(2)


def jensen_shannon(left, right):
    """The divergence of distributions of the last dimension, in bits."""
    return entropy((left + right) / 2) - (entropy(left) + entropy(right)) / 2


class Divergences:
    """The sums of the divergences of all layers of one kind, over all heads and rows."""

    def __init__(self):
        self.sums, self.rows = None, 0

    def add(self, layers, hidden, counted):
        """layers: (query, key) of each. counted: [batch, rows], which are no padding."""
        found = [probabilities(query, key, hidden) for query, key in layers]
        if self.sums is None:
            self.sums = torch.zeros(len(found), len(found), dtype=torch.float64)
        self.rows += int(counted.sum())
        for i, left in enumerate(found):
            for j, right in enumerate(found[:i]):
                mean = jensen_shannon(left, right).mean(1)[counted].sum()
                self.sums[i, j] += mean
                self.sums[j, i] += mean

    def similarity(self):
        return (1 - self.sums / self.rows).tolist()


@torch.no_grad()
def measure(model, tokenizer, lines):
    """{kind: Divergences} of a model in double precision."""
    kinds = {kind: Divergences() for kind in ATTENTION}
    sources = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
    for begin in range(0, len(sources), GROUP):
        source = padded(sources[begin:begin + GROUP])
        found = model.greedy(source, LONGEST).tolist()
        target = padded([[BOS] + [token for token in row if token not in (EOS, PAD)]
                         for row in found])
        visible = (source != PAD)[:, None, None, :]
        memory, encoder = model.encoder(model.embed(source), visible)
        _, decoder = model.decoder(model.embed(target), visible, memory)
        later = torch.ones(target.shape[1], target.shape[1]).triu(1).bool()
        kinds["encoder"].add(encoder["self"], ~visible, source != PAD)
        kinds["decoder"].add(decoder["self"], later, target != PAD)
        kinds["cross"].add(decoder["cross"], ~visible, target != PAD)
    return kinds


def analyse(folder, lines, theta):
    """What --output has."""
    model, tokenizer = load(folder)
    kinds = measure(model.double(), tokenizer, lines)
    described = []
    for kind, found in kinds.items():
        stack = model.encoder if kind == "encoder" else model.decoder
        name = "encoder" if kind == "encoder" else "decoder"
        attends = (lambda layer: layer.begins_cross) if kind == "cross" else (
            lambda layer: layer.begins_self)
        described.append({
            "kind": kind,
            "layers": [f"{name}.layers.{i}.{ATTENTION[kind]}"
                       for i, layer in enumerate(stack.layers) if attends(layer)],
            "positions": found.rows,
            "similarity": found.similarity(),
            "policy": sharing_policy(found.similarity(), theta) if theta is not None else None,
        })
    return {"model": folder.name, "theta": theta, "kinds": described, "sentences": len(lines),
            "positions": kinds["encoder"].rows + kinds["decoder"].rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--input", type=Path, required=True, help="a line of text each")
    parser.add_argument("--theta", type=float, help="how similar the layers of a block must be")
    parser.add_argument("--output", type=Path, help="where the analysis is written as json")
    options = parser.parse_args()
    torch.set_num_threads(1)
    analysis = analyse(options.model, options.input.read_text().splitlines(), options.theta)
    for kind in analysis["kinds"]:
        print(kind["kind"])
        for row in kind["similarity"]:
            print("  " + "  ".join(f"{value:.4f}" for value in row))
        if kind["policy"]:
            print("  policy", ",".join(map(str, kind["policy"])))
    if options.output:
        options.output.write_text(json.dumps(analysis, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
