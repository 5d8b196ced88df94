# SPDX-License-Identifier: Apache-2.0
"""Writes analysis.json beside models that are here: the Jensen-Shannon divergences that
`heddle analyze` must find, computed in float64 from what other programs' attention gives.

    python make_analysis.py REFERENCE FOLDER...     needs torch, transformers and safetensors

REFERENCE is the folder of reference.py, the definition of the models of the project's own format.
Those run on the sources of expected.safetensors and on the greedy texts in it, sentence by sentence
without padding; BERT and models that continue texts on their input_ids.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import load_file


def entropy(p):
    return -(p * torch.where(p > 0, p, torch.ones_like(p)).log2()).sum(-1)


class Sum:
    """The mean over sentences, positions and heads, each pair of layers apart."""

    def __init__(self):
        self.sums, self.rows, self.heads = {}, 0, 0

    def add(self, layers):
        """[heads, rows, keys] for each layer."""
        self.rows += layers[0].shape[1]
        self.heads = layers[0].shape[0]
        for i, p in enumerate(layers):
            for j, q in enumerate(layers):
                jsd = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
                self.sums[i, j] = self.sums.get((i, j), 0) + float(jsd.sum())

    def write(self, kind, names):
        count = self.rows * self.heads
        matrix = [[0 if i == j else self.sums[i, j] / count for j in range(len(names))]
                  for i in range(len(names))]
        return {"kind": kind, "layers": names, "positions": self.rows, "divergence": matrix}


def of_transformer(reference, folder):
    model = reference.Transformer(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    model.double()
    seen = {}

    def watch(kind, number, part):
        inner = getattr(part, "probabilities", None)
        if inner is None or not hasattr(part, "query"):
            return

        def probabilities(*arguments):
            result = inner(*arguments)
            seen.setdefault(kind, {})[number] = result[0]
            return result

        part.probabilities = probabilities

    for number, layer in enumerate(model.encoder.layers):
        watch("encoder", number, layer.self_attention)
    for number, layer in enumerate(model.decoder.layers):
        watch("decoder", number, layer.self_attention)
        watch("cross", number, layer.cross_attention)
    expected = load_file(folder / "expected.safetensors")
    sums, positions = {}, 0
    for source, target in zip(expected["source"].long(), expected["greedy.tokens"].long()):
        source, target = source[source != reference.PAD], target[target != reference.PAD]
        assert target[-1] == reference.EOS
        fed = torch.cat([torch.tensor([reference.BOS]), target[:-1]])
        model.decode(model.encode(source[None]), source[None], fed[None])
        positions += len(source) + len(fed)
        for kind, layers in seen.items():
            sums.setdefault(kind, Sum()).add(list(layers.values()))
    part = {"encoder": "encoder.layers.{}.self_attention",
            "decoder": "decoder.layers.{}.self_attention",
            "cross": "decoder.layers.{}.cross_attention"}
    kinds = [sums[kind].write(kind, [name.format(number) for number in seen[kind]])
             for kind, name in part.items()]
    return {"sentences": len(expected["source"]), "positions": positions, "kinds": kinds}


def of_texts(folder, kind, name):
    import transformers

    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").double()
    expected = load_file(folder / "expected.safetensors")
    total = Sum()
    for ids, mask in zip(expected["input_ids"].long(), expected["attention_mask"]):
        found = model(input_ids=ids[mask == 1][None], output_attentions=True)
        total.add([layer[0] for layer in found.attentions])
    names = [name.format(i) for i in range(len(found.attentions))]
    return {"sentences": len(expected["input_ids"]), "positions": total.rows,
            "kinds": [total.write(kind, names)]}


def main():
    sys.path.insert(0, sys.argv[1])
    import reference

    for folder in map(pathlib.Path, sys.argv[2:]):
        kind = json.loads((folder / "config.json").read_text())["model_type"]
        with torch.no_grad():
            if kind == "bert":
                found = of_texts(folder, "encoder", "encoder.layer.{}.attention.self")
            elif kind == "mistral":
                found = of_texts(folder, "decoder", "model.layers.{}.self_attn")
            else:
                found = of_transformer(reference, folder)
        (folder / "analysis.json").write_text(json.dumps(found) + "\n")


main()
