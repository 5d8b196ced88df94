# SPDX-License-Identifier: Apache-2.0
"""Threads, coroutines, processes and Ctrl-C: the same bits, and nothing is left behind."""

import asyncio
import gc
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import heddle
import pytest
from conftest import TEXTS, sources

LINES = sources()[:60]


def test_threads_share_a_model(encoder, dates):
    rows, answers = encoder.encode(TEXTS), dates.generate(LINES, beam=2)

    def work(seed):
        order = random.Random(seed)
        for _ in range(6):
            i = order.randrange(len(LINES))
            if order.random() < 0.3:
                assert np.array_equal(encoder.encode(TEXTS), rows)
            elif order.random() < 0.5:
                assert dates.generate(LINES[i], beam=2) == answers[i]
            elif order.random() < 0.5:
                assert list(dates.stream(LINES[i], beam=2))[-1].hypothesis == answers[i][0]
            else:
                assert dates.generate(LINES[i:i + 7], beam=2) == answers[i:i + 7]

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work, seed) for seed in range(8)]:
            done.result()


def test_threads_beside_coroutines_that_are_cancelled(dates, encoder):
    """Eight threads and a hundred coroutines at once, half of which are cancelled, each at a moment of its own."""
    answers, rows = dates.generate(LINES, beam=2), encoder.encode(TEXTS)
    order = random.Random(1)

    async def one(i):
        if i % 4 == 0:
            text = ""
            async for piece in dates.astream(LINES[i], beam=2):
                text += piece.text
            assert text == answers[i][0].text
        elif i % 4 == 1:
            assert np.array_equal(await encoder.aencode(TEXTS), rows)
        else:
            assert await dates.agenerate(LINES[i], beam=2) == answers[i]
        return True

    async def everything():
        tasks = [asyncio.create_task(one(i % len(LINES))) for i in range(100)]
        chosen = order.sample(tasks, 50)
        for task in chosen:
            await asyncio.sleep(order.uniform(0, 0.01))
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(each is True or isinstance(each, asyncio.CancelledError) for each in outcomes), outcomes
        assert all(each is True for task, each in zip(tasks, outcomes) if task not in chosen)

    stop = threading.Event()

    def beside(seed):
        draw = random.Random(seed)
        while not stop.is_set():
            i = draw.randrange(len(LINES))
            if seed % 3 == 0:
                assert np.array_equal(encoder.encode(TEXTS), rows)
            elif seed % 3 == 1:
                # Left after a piece: the rest of its answer is cancelled.
                assert answers[i][0].text.startswith(next(dates.stream(LINES[i], beam=2)).text)
            else:
                assert dates.generate(LINES[i], beam=2) == answers[i]

    with ThreadPoolExecutor(8) as threads:
        working = [threads.submit(beside, seed) for seed in range(8)]
        try:
            asyncio.run(everything())
        finally:
            stop.set()
        for each in working:
            each.result()
    assert dates.generate(LINES, beam=2) == answers and np.array_equal(encoder.encode(TEXTS), rows)


def test_leaving_an_async_stream_ends_it(dates):
    async def first():
        async for piece in dates.astream(LINES[0], min_length=30, max_length=40):
            return piece
        return None

    assert asyncio.run(first()) is not None


def test_encode_in_a_coroutine(encoder):
    assert np.array_equal(asyncio.run(encoder.aencode(TEXTS)), encoder.encode(TEXTS))


def test_the_interpreter_runs_while_heddle_computes(dates):
    counted = 0
    done = threading.Event()

    def work():
        dates.generate(LINES * 4, beam=4)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.wait(0.001):
        counted += 1
    thread.join()
    assert counted > 5


ENDS = """
import asyncio, sys
import heddle
model = heddle.load(sys.argv[1])
async def several():
    await asyncio.gather(*(model.agenerate("3. Mai 1984", max_length=20) for _ in range(3)))
async def left():
    async for _ in model.astream("3. Mai 1984", min_length=30, max_length=40):
        break
asyncio.run(left() if sys.argv[2] == "left" else several())
if sys.argv[2] == "waiting":
    # Nobody runs this loop any more.
    loop = asyncio.new_event_loop()
    task = loop.create_task(several())
    loop.run_until_complete(asyncio.sleep(0))
print("end")
"""


@pytest.mark.parametrize("how", ["several", "left", "waiting"])
def test_a_program_with_coroutines_ends_without_a_crash(dates_path, how):
    for _ in range(8):
        done = subprocess.run([sys.executable, "-c", ENDS, dates_path, how], capture_output=True,
                              text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


CTRL_C = """
import os, signal, sys, threading, time
import heddle
# A parent may have ignored it, as a shell does for what runs in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
model = heddle.load(sys.argv[1])
lines = ["3. Mai 1984"] * 20000
def press():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    model.encode(lines * 50) if sys.argv[2] == "encode" else model.generate(lines, beam=4)
    print("finished")
except KeyboardInterrupt:
    if sys.argv[2] == "generate":
        assert model.generate("3. Mai 1984")
    print("interrupted")
"""


@pytest.mark.parametrize("call", ["encode", "generate"])
def test_ctrl_c_ends_a_long_call(call, encoder_path, dates_path):
    path = encoder_path if call == "encode" else dates_path
    done = subprocess.run([sys.executable, "-c", CTRL_C, path, call], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


def test_close_lets_calls_finish(dates_path):
    model = heddle.load(dates_path)
    expected = model.generate(LINES)
    results = []
    threads = [threading.Thread(target=lambda: results.append(model.generate(LINES)))
               for _ in range(3)]
    stream = model.stream(LINES[0])
    next(stream)
    for thread in threads:
        thread.start()
    model.close()
    for thread in threads:
        # Either it came before the end, or it was told.
        thread.join()
    assert all(each == expected for each in results)
    stream.close()
    assert model.closed and repr(model).endswith(", closed>")


def test_with_closes(encoder_path):
    with heddle.load(encoder_path) as model:
        assert model.encode("a").shape == (72,)
    with pytest.raises(heddle.InvalidArgument, match="the model is closed"):
        model.encode("a")


def test_another_process_has_the_model(encoder):
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.encode(TEXTS), encoder.encode(TEXTS))


def test_a_process_shares_a_model(encoder_path, dates, dates_path, tmp_path):
    path = tmp_path / "m.so"
    path.write_bytes(open(encoder_path, "rb").read())
    with ThreadPoolExecutor(8) as threads:
        models = list(threads.map(lambda _: heddle.shared(path), range(16)))
    assert len(set(map(id, models))) == 1
    assert heddle.shared(str(path)) is models[0]
    assert heddle.shared(path, threads=2) is heddle.shared(path, threads=2) is not models[0]
    models[0].close()
    again = heddle.shared(path)
    assert again is not models[0] and not again.closed
    other = tmp_path / "other.so"
    other.write_bytes(open(dates_path, "rb").read())
    os.replace(other, path)
    # Its code is that of the new file, although the old one is still loaded.
    assert heddle.shared(path).generate(LINES[:5]) == dates.generate(LINES[:5])
    assert again.encode(TEXTS).shape == (len(TEXTS), 72)
    with pytest.raises(heddle.Error, match="none.so"):
        heddle.shared(tmp_path / "none.so")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork(encoder, dates):
    rows, answers = encoder.encode(TEXTS), dates.generate(LINES[:5])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(20)
            same = np.array_equal(encoder.encode(TEXTS), rows) and dates.generate(LINES[:5]) == answers
            code = 0 if same else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_memory_stays(encoder, dates):
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def work():
        for _ in range(30):
            encoder.encode(TEXTS)
            dates.generate(LINES[:8])
            next(dates.stream(LINES[0]))
        gc.collect()

    work()
    before = resident()
    work()
    assert resident() - before < 8 << 20
