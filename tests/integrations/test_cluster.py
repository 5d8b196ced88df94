# SPDX-License-Identifier: Apache-2.0
"""examples/cluster with two workers, one of which is killed: every line comes out once, with the bits that one
process computes, the memory of the model's file is shared, and that of the workers does not grow.

HEDDLE_CLUSTER_LINES sets the number of lines; of more than SAMPLE lines the bits of so many are compared.
HEDDLE_CLUSTER_PRECISION compiles the model in that precision.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import heddle
import numpy as np
import pytest
from conftest import FOLDER, ROOT, needed

LINES = int(os.environ.get("HEDDLE_CLUSTER_LINES", "20000"))
SAMPLE = 20000
PRECISION = os.environ.get("HEDDLE_CLUSTER_PRECISION")
EXAMPLES = ROOT / "examples" / "cluster"
# The part of the file that a worker has not read before it computes.
COMPUTING = 0.35
# What a worker may have more in the second half of its time than ever in the first.
GROWTH = 64 << 20


def memory_of(pid, file):
    """Bytes of a file that a process has in memory, and its share of them: a page that two processes have
    counts half for each. None where it has none."""
    try:
        maps = Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    resident = share = 0
    for part in re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", maps, flags=re.M):
        if part.partition("\n")[0].endswith(f" {file}"):
            resident += int(re.search(r"^Rss: +(\d+)", part, re.M)[1]) << 10
            share += int(re.search(r"^Pss: +(\d+)", part, re.M)[1]) << 10
    return (resident, share) if resident else None


def anonymous_of(pid):
    """The memory of a process that no file and no shared memory is behind; None once it has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^Pss_Anon: +(\d+)", text, re.M)
    return int(found[1]) << 10 if found else None


class Watch(threading.Thread):
    """Waits until two processes compute with a file, notes how they share it, and kills one of them a second
    later. Until it is stopped, it notes the memory of all that have the file."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file = file
        self.computing = COMPUTING * file.stat().st_size
        self.over = threading.Event()
        self.killed = None
        self.failure = None
        # Of each: bytes of the file, and its share of them.
        self.workers = []
        # By process: (when, its memory).
        self.memory = {}

    def run(self):
        try:
            while not self.over.wait(0.2 if self.killed is None else 2):
                self.look()
        except Exception as failure:
            self.failure = failure

    def look(self):
        found = {pid: sizes for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                 if (sizes := memory_of(pid, self.file)) and sizes[0] > self.computing}
        for pid in found:
            if (size := anonymous_of(pid)) is not None:
                self.memory.setdefault(pid, []).append((time.monotonic(), size))
        if self.killed is not None or len(found) < 2:
            return
        self.workers = list(found.values())
        # Some work is done, some is under way.
        time.sleep(1)
        self.killed = next(iter(found))
        os.kill(self.killed, signal.SIGKILL)

    def growths(self):
        """By how much each process has had more in its second half, of those that lived for ten seconds."""
        for seen in self.memory.values():
            middle = (seen[0][0] + seen[-1][0]) / 2
            early, late = ([size for when, size in seen if (when > middle) == half] for half in (False, True))
            if seen[-1][0] - seen[0][0] >= 10 and early and late:
                yield max(late) - max(early)


@pytest.fixture(scope="module")
def compiled(minilm_path, tmp_path_factory):
    if PRECISION is None:
        return minilm_path
    return heddle.compile(FOLDER, tmp_path_factory.mktemp("precision") / "minilm.so", precision=PRECISION)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    with open(path, "wb") as file:
        subprocess.run([sys.executable, EXAMPLES / "make_lines.py", str(LINES)], stdout=file, check=True)
    return path


@pytest.fixture(scope="module")
def expected(lines, compiled):
    """The embeddings of some lines, or of all."""
    texts = lines.read_text(encoding="utf-8").splitlines()
    assert len(set(texts)) == LINES
    chosen = random.Random(2).sample(texts, min(SAMPLE, LINES))
    return dict(zip(chosen, heddle.load(compiled, threads=2).encode(chosen), strict=True))


def check_rows(folder, lines, expected, parquet):
    """Each line once, and the expected bits. A part after the other: a million rows are gigabytes of Python's floats."""
    missing = set(lines.read_text(encoding="utf-8").splitlines())
    compared = 0
    for part in sorted(folder.glob("*.parquet")):
        table = parquet.read_table(part, columns=["text", "embedding"])
        for batch in table.to_batches(max_chunksize=8192):
            texts = batch.column("text").to_pylist()
            assert missing.issuperset(texts) and len(set(texts)) == len(texts), part
            missing.difference_update(texts)
            chosen = [i for i, text in enumerate(texts) if text in expected]
            rows = batch.column("embedding")
            assert all(np.array_equal(np.array(rows[i].as_py(), np.float32), expected[texts[i]]) for i in chosen)
            compared += len(chosen)
    assert not missing and compared == len(expected)


@pytest.mark.parametrize("script, package", [("ray_data.py", "ray.data"), ("dask_bag.py", "dask.distributed"),
                                             ("spark_udf.py", "pyspark")])
def test_a_killed_worker_loses_nothing(script, package, lines, expected, compiled, tmp_path, capsys):
    needed(package)
    parquet = needed("pyarrow.parquet")
    if package == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs java")
    # A copy, which no other process has mapped.
    model = tmp_path / "model.so"
    shutil.copyfile(compiled, model)
    watch = Watch(model)
    watch.start()
    begin = time.monotonic()
    # Ray's workers are nice to other programs, and wait for all of them on a busy machine.
    environment = dict(os.environ, OMP_NUM_THREADS="1", RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    done = subprocess.run([sys.executable, EXAMPLES / script, model, lines, tmp_path / "output"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=max(1200, LINES / 20), check=False, env=environment)
    seconds = time.monotonic() - begin
    watch.over.set()
    watch.join()
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert watch.failure is None
    assert watch.killed, "never had two workers the model in memory, expected two of which one is killed"
    check_rows(tmp_path / "output", lines, expected, parquet)
    size = model.stat().st_size
    together = sum(share for _, share in watch.workers)
    assert together < 1.05 * size, (watch.workers, size)
    growths = list(watch.growths())
    assert all(growth < GROWTH for growth in growths), watch.memory
    with capsys.disabled():
        each = "; ".join(f"{resident >> 20} MiB of the model, a share of {share >> 20}"
                         for resident, share in watch.workers)
        own = ", ".join(f"{max(size for _, size in seen) >> 20} MiB" for seen in watch.memory.values())
        print(f"\n{script}: {LINES} lines in {seconds:.1f} s, with its start and a killed worker. Workers: {each}. "
              f"The model is {size >> 20} MiB. Most memory of each process besides: {own}; more in the second half of its "
              f"time than in the first: {', '.join(f'{growth / 2**20:.1f} MiB' for growth in growths)}")
