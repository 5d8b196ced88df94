# SPDX-License-Identifier: Apache-2.0
"""One measurement of an engine's Python package, in a process of its own: prints a line of JSON.

    python_calls.py import
    python_calls.py beside-native MODEL.so THREADS LIBRARY CALLS
    python_calls.py one  ENGINE MODEL THREADS CALLS           ENGINE is heddle or sentence-transformers
    python_calls.py many ENGINE MODEL THREADS LINES.txt
    python_calls.py translate ENGINE MODEL THREADS CASES      ENGINE is heddle or ctranslate2; SENTENCESxBEAM, ...
"""

import json
import statistics
import sys
import time
from pathlib import Path

ONE = "Where is the cat?"
# Tokens in and out of a translation.
LENGTH = 24
# Calls of one way before the other has its turn: the threads of the other one sleep by then.
TURN = 20


def seconds_of(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def median_of(call, least_runs, least_seconds):
    """The median time of a call, after one to warm up."""
    call()
    times, begin = [], time.perf_counter()
    while len(times) < least_runs or time.perf_counter() - begin < least_seconds:
        times.append(seconds_of(call))
    return statistics.median(times)


def imports():
    def numpy():
        import numpy  # noqa: F401

    def heddle():
        import heddle  # noqa: F401

    return {"numpy_ms": seconds_of(numpy) * 1e3, "heddle_ms": seconds_of(heddle) * 1e3}


def beside_native(model, threads, library, calls):
    """encode() and Session::embed of one sentence, in turns."""
    import ctypes

    import heddle
    import numpy as np
    loaded = heddle.load(model, threads=int(threads))
    native = ctypes.CDLL(library)
    native.openEmbedder.restype = ctypes.c_void_p
    native.secondsOfEmbed.restype = ctypes.c_double
    native.embeddingOf.restype = ctypes.POINTER(ctypes.c_float)
    embedder = ctypes.c_void_p(native.openEmbedder(model.encode(), int(threads)))
    if not embedder:
        sys.exit("the C++ interface does not load the model")
    text = ONE.encode()
    ways = {"python": lambda: seconds_of(lambda: loaded.encode(ONE)),
            "native": lambda: native.secondsOfEmbed(embedder, text)}
    times = {name: [] for name in ways}
    for _ in range(int(calls) // TURN):
        for name, way in ways.items():
            time.sleep(0.002)
            # The first calls of a turn find cold caches.
            times[name] += [way() for _ in range(TURN)][5:]
    row = loaded.encode(ONE)
    if min(times["native"]) < 0 or not np.array_equal(
            np.ctypeslib.as_array(native.embeddingOf(embedder), row.shape), row):
        sys.exit("the C++ interface computes another embedding")
    return {f"{name}_us": statistics.median(found) * 1e6 for name, found in times.items()}


def encoder(engine, model, threads):
    """The method that encodes texts."""
    if engine == "heddle":
        import heddle
        return heddle.load(model, threads=threads).encode
    import torch
    from sentence_transformers import SentenceTransformer
    torch.set_num_threads(threads)
    return SentenceTransformer(model, device="cpu").encode


def one(engine, model, threads, calls):
    encode = encoder(engine, model, int(threads))
    return {"us": median_of(lambda: encode(ONE), int(calls), 1) * 1e6}


def many(engine, model, threads, lines):
    texts = Path(lines).read_text(encoding="utf-8").splitlines()
    begin = time.perf_counter()
    encode = encoder(engine, model, int(threads))
    loaded = time.perf_counter()
    encode(texts)
    return {"load_s": loaded - begin, "encode_s": time.perf_counter() - loaded}


def translator(engine, model, threads):
    """A function that translates rows of token ids, and returns the lengths of the best translations."""
    if engine == "heddle":
        import heddle
        loaded = heddle.load(model, threads=threads)

        def ours(ids, beam):
            found = loaded.generate(list(ids), beam=beam, min_length=LENGTH, max_length=LENGTH)
            return [len(hypotheses[0].tokens) for hypotheses in found]
        return ours
    import ctranslate2
    loaded = ctranslate2.Translator(model, device="cpu", compute_type="float32", intra_threads=threads,
                                    inter_threads=1)

    def theirs(ids, beam):
        # The names of tokens of benchmarks/peers/translate.py.
        words = [[f"w{token - 4}" for token in row] for row in ids]
        found = loaded.translate_batch(words, beam_size=beam, min_decoding_length=LENGTH,
                                       max_decoding_length=LENGTH, max_batch_size=len(words))
        return [len(each.hypotheses[0]) for each in found]
    return theirs


def translate(engine, model, threads, cases):
    import numpy as np
    call = translator(engine, model, int(threads))
    rates = {}
    for case in cases.split(","):
        sentences, beam = map(int, case.split("x"))
        ids = np.random.default_rng(1).integers(4, 32000, (sentences, LENGTH)).astype(np.int32)
        if set(call(ids, beam)) != {LENGTH}:
            sys.exit(f"{engine} writes {call(ids, beam)} tokens, expected {LENGTH} for each sentence")
        rates[case] = sentences * LENGTH / median_of(lambda: call(ids, beam), 3, 2)
    return {"tokens_per_s": rates}


def main():
    work = {"import": imports, "beside-native": beside_native, "one": one, "many": many, "translate": translate}
    print(json.dumps(work[sys.argv[1]](*sys.argv[2:])))


if __name__ == "__main__":
    main()
