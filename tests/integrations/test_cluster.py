# SPDX-License-Identifier: Apache-2.0
"""examples/cluster with two workers, one of which is killed: every line comes out once, with the bits that one
process computes, and the memory of the model's file is shared. HEDDLE_CLUSTER_LINES sets the number of lines."""

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import ROOT, needed

LINES = int(os.environ.get("HEDDLE_CLUSTER_LINES", "20000"))
EXAMPLES = ROOT / "examples" / "cluster"
# More than a worker reads of the file before it has computed anything.
COMPUTING = 32 << 20


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


def share_of(pid):
    """The proportional set size of a process, all of its memory."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8")
    return int(re.search(r"^Pss: +(\d+)", text, re.M)[1]) << 10


class Watch(threading.Thread):
    """Waits until two processes compute with a file, notes their memory, and kills one of them a second later."""

    def __init__(self, file):
        super().__init__(daemon=True)
        self.file = file
        self.over = threading.Event()
        self.killed = None
        self.failure = None
        # Of each: bytes of the file, its share of them, its share of memory in all.
        self.workers = []

    def run(self):
        try:
            while self.killed is None and not self.over.wait(0.2):
                self.look()
        except Exception as failure:
            self.failure = failure

    def look(self):
        found = {pid: sizes for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
                 if (sizes := memory_of(pid, self.file)) and sizes[0] > COMPUTING}
        if len(found) < 2:
            return
        self.workers = [(*sizes, share_of(pid)) for pid, sizes in found.items()]
        # Some work is done, some is under way.
        time.sleep(1)
        self.killed = next(iter(found))
        os.kill(self.killed, signal.SIGKILL)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "lines.txt"
    with open(path, "wb") as file:
        subprocess.run([sys.executable, EXAMPLES / "make_lines.py", str(LINES)], stdout=file, check=True)
    return path


@pytest.fixture(scope="module")
def expected(lines, minilm):
    texts = lines.read_text(encoding="utf-8").splitlines()
    assert len(set(texts)) == LINES
    return dict(zip(texts, minilm.encode(texts), strict=True))


@pytest.mark.parametrize("script, package", [("ray_data.py", "ray.data"), ("dask_bag.py", "dask.distributed"),
                                             ("spark_udf.py", "pyspark")])
def test_a_killed_worker_loses_nothing(script, package, lines, expected, minilm_path, tmp_path, capsys):
    needed(package)
    parquet = needed("pyarrow.parquet")
    if package == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs java")
    # A copy, which no other process has mapped.
    model = tmp_path / "model.so"
    shutil.copyfile(minilm_path, model)
    watch = Watch(model)
    watch.start()
    begin = time.monotonic()
    # Ray's workers are nice to other programs, and wait for all of them on a busy machine.
    environment = dict(os.environ, OMP_NUM_THREADS="1", RAY_USAGE_STATS_ENABLED="0", RAY_worker_niceness="0")
    done = subprocess.run([sys.executable, EXAMPLES / script, model, lines, tmp_path / "output"], cwd=tmp_path,
                          capture_output=True, text=True, timeout=1200, check=False, env=environment)
    seconds = time.monotonic() - begin
    watch.over.set()
    watch.join()
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert watch.failure is None
    assert watch.killed, "never had two workers the model in memory, expected two of which one is killed"
    table = parquet.read_table(tmp_path / "output", columns=["text", "embedding"])
    assert table.num_rows == LINES
    found = dict(zip(table["text"].to_pylist(), table["embedding"].to_pylist(), strict=True))
    assert found.keys() == expected.keys()
    assert all(np.array_equal(np.array(row, np.float32), expected[text]) for text, row in found.items())
    size = model.stat().st_size
    together = sum(share for _, share, _ in watch.workers)
    assert together < 1.05 * size, (watch.workers, size)
    with capsys.disabled():
        each = "; ".join(f"{resident >> 20} MiB of the model, a share of {share >> 20}, of all memory {all_of_it >> 20}"
                         for resident, share, all_of_it in watch.workers)
        print(f"\n{script}: {LINES} lines in {seconds:.1f} s, with its start and a killed worker. Workers: {each}. "
              f"The model is {size >> 20} MiB")
