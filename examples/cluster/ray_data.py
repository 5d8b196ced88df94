# SPDX-License-Identifier: Apache-2.0
"""Embeds the lines of a text file with Ray Data.

    ray_data.py MODEL.so LINES.txt OUTPUT_FOLDER [WORKERS]
"""

import sys

import heddle
import ray


class Embedder:
    """An actor. It maps the model's file, so that the actors of a machine share the memory of its weights."""

    def __init__(self, model):
        self.model = heddle.load(model)

    def __call__(self, batch):
        batch["embedding"] = self.model.encode(list(batch["text"]))
        return batch


def main(model, lines, output, workers="2"):
    # One core more, which reads and writes. On a cluster that runs: ray.init() alone.
    ray.init(num_cpus=int(workers) + 1, include_dashboard=False)
    texts = ray.data.read_text(lines).repartition(8 * int(workers))
    embedded = texts.map_batches(Embedder, fn_constructor_args=[model], batch_size=512, num_cpus=1,
                                 compute=ray.data.ActorPoolStrategy(size=int(workers)))
    embedded.write_parquet(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
