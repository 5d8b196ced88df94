# SPDX-License-Identifier: Apache-2.0
"""Embeds the lines of a text file with Dask.

    dask_bag.py MODEL.so LINES.txt OUTPUT_FOLDER [WORKERS]
"""

import os
import sys

import dask.bag
import heddle
import pyarrow.parquet
from dask.distributed import Client


def embed(lines, model, path):
    """Writes the embeddings of a part. A worker loads the model at its first part and maps its file, so that
    the workers of a machine share the memory of its weights."""
    texts = [line.rstrip("\n") for line in lines]
    rows = heddle.shared(model).encode(texts)
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "embedding": list(rows)}), path)
    return len(texts)


def main(model, lines, output, workers="2"):
    os.makedirs(output, exist_ok=True)
    # On a cluster that runs: Client(ADDRESS).
    with Client(n_workers=int(workers), threads_per_worker=1):
        parts = dask.bag.read_text(lines, blocksize="128KiB").to_delayed()
        written = [dask.delayed(embed)(part, model, f"{output}/part-{number:05}.parquet")
                   for number, part in enumerate(parts)]
        print(sum(dask.compute(*written)), "lines")


if __name__ == "__main__":
    main(*sys.argv[1:])
