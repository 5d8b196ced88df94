#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the models of this folder, which differ in their attention alone.

    pip install -r requirements.txt
    train.py OUT                     all of them, each in a folder of OUT
    train.py OUT additive local-p    some of them
    train.py --evaluate OUT          exact match of what is there

Each folder gets config.json, model.safetensors, tokenizer.json, and greedy.txt: what a greedy search
finds for the first 200 lines of ../dates/heldout.tsv. Seeds are fixed and one thread computes, so
that a machine makes the same weights again.
"""

import argparse
import json
import random
import re
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch.nn import functional as F

from recurrent import BOS, EOS, PAD, Recurrent

DATES = Path(__file__).resolve().parent.parent / "dates"
sys.path.append(str(DATES))

import generate

SEED, PAIRS, BATCH, SHOWN = 1, 100000, 64, 200
STEPS, WARMUP, FALL, RATE, REPORTED = 1200, 100, 600, 3e-3, 100
SPECIALS = 4
DATE = re.compile(r"(\d{4}|-)-\d\d(-\d\d)?")


def config(decoder, attention):
    return {"model_type": "recurrent", "vocab_size": 448, "target_vocab_size": 0, "d_embed": 32,
            "encoder": {"cell": "gru-reset-after", "hidden": 48, "layers": 1, "bidirectional": True},
            "decoder": {"cell": "gru-reset-after", "hidden": 96, "layers": 1, **decoder},
            "bridge": "linear", "attention": attention, "readout": {"kind": "attentional"},
            "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS}


MODELS = {
    "none": config({"order": "attend-first", "feed": "none"}, {"kind": "none"}),
    "additive": config({"order": "attend-first", "feed": "none"}, {"kind": "additive", "width": 48}),
    "general": config({"order": "state-first", "feed": "attentional"}, {"kind": "general"}),
    "local-p": config({"order": "state-first", "feed": "none"},
                      {"kind": "general", "window": {"kind": "predictive", "size": 4}}),
    "location": config({"order": "state-first", "feed": "context"},
                       {"kind": "location", "width": 48, "filters": 8, "kernel": 7,
                        "normaliser": "softmax", "first": "zeros", "cumulative": True}),
}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def heldout():
    lines = (DATES / "heldout.tsv").read_text(encoding="utf-8").splitlines()
    known = dict(line.split("\t") for line in lines)
    return {line: normal for line, normal in known.items() if DATE.fullmatch(normal)}


def training(known):
    """Pairs nobody measures with, each line once."""
    generate.KINDS = {("date",): 1}
    found = {}
    for source, target in generate.pairs(SEED, 1 << 60):
        if source not in known:
            found[source] = target
        if len(found) == PAIRS:
            return found


def renumbered(normal_forms):
    """The tokenizer of ../dates, the tokens of normal forms numbered first: how many these are is
    how wide the output is."""
    text = (DATES / "model" / "tokenizer.json").read_text(encoding="utf-8")
    used = sorted({token for encoding in Tokenizer.from_str(text).encode_batch(normal_forms)
                   for token in encoding.ids if token >= SPECIALS})
    content = json.loads(text)
    vocabulary = content["model"]["vocab"]
    order = [*range(SPECIALS), *used]
    order += [number for number in sorted(vocabulary.values()) if number not in set(order)]
    names = {number: token for token, number in vocabulary.items()}
    content["model"]["vocab"] = {names[old]: new for new, old in enumerate(order)}
    return Tokenizer.from_str(json.dumps(content)), SPECIALS + len(used)


def batches(rng, sources, targets):
    """Endless batches, the sources of each of one length."""
    while True:
        groups, of_length = [], {}
        for number, source in enumerate(sources):
            of_length.setdefault(len(source), []).append(number)
        for numbers in of_length.values():
            rng.shuffle(numbers)
            # Targets of about one length side by side, in a new order every time.
            for begin in range(0, len(numbers), 8 * BATCH):
                pool = sorted(numbers[begin:begin + 8 * BATCH], key=lambda i: len(targets[i]))
                groups += [pool[i:i + BATCH] for i in range(0, len(pool), BATCH)]
        rng.shuffle(groups)
        for group in groups:
            longest = max(len(targets[i]) for i in group)
            yield (torch.tensor([sources[i] for i in group]),
                   torch.tensor([targets[i] + [PAD] * (longest - len(targets[i])) for i in group]))


def fit(model, feed, steps):
    """AdamW with a rate that rises, stays, and falls to zero in the last steps."""
    weights = list(model.parameters())
    adam = torch.optim.AdamW(weights, betas=(0.9, 0.98), eps=1e-8, weight_decay=0.01, fused=True)
    total, begin = 0.0, time.time()
    model.train()
    for step, (source, target) in zip(range(1, steps + 1), feed):
        for group in adam.param_groups:
            group["lr"] = RATE * min(step / WARMUP, 1, (steps + 1 - step) / FALL)
        logits = model.decode(source, target[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        adam.step()
        total += loss.item()
        if step % REPORTED == 0:
            say(f"step {step}: loss {total / REPORTED:.4f}, {time.time() - begin:.0f} s")
            total = 0.0


@torch.no_grad()
def normalise(model, tokenizer, lines):
    """The normal forms of lines, by greedy search."""
    sources, of_length = [encoding.ids for encoding in tokenizer.encode_batch(lines)], {}
    for number, source in enumerate(sources):
        of_length.setdefault(len(source), []).append(number)
    found = [""] * len(lines)
    model.eval()
    for length, numbers in of_length.items():
        rows = model.greedy(torch.tensor([sources[i] for i in numbers]), length + 50).tolist()
        for i, row in zip(numbers, rows):
            found[i] = tokenizer.decode([token for token in row if token >= SPECIALS])
    return found


def load(folder):
    model = Recurrent(json.loads((folder / "config.json").read_text()))
    model.load_state_dict(load_file(folder / "model.safetensors"))
    return model, Tokenizer.from_file(str(folder / "tokenizer.json"))


def measure(folder, wanted):
    """Exact match, and the answers to the first lines."""
    model, tokenizer = load(folder)
    found = normalise(model, tokenizer, list(wanted))
    right = sum(one == other for one, other in zip(found, wanted.values()))
    parameters = sum(weight.numel() for weight in model.parameters())
    say(f"{folder.name}: {parameters} parameters, {100 * right / len(wanted):.2f} % of {len(wanted)}"
        " lines exact")
    return found[:SHOWN]


def train(out, names):
    begin, cpu = time.time(), time.process_time()
    wanted = heldout()
    known = training(wanted)
    tokenizer, outputs = renumbered(list(known.values())[:50000])
    sources = [encoding.ids for encoding in tokenizer.encode_batch(list(known))]
    targets = [[BOS] + encoding.ids for encoding in tokenizer.encode_batch(list(known.values()))]
    say(f"{len(known)} pairs, {time.process_time() - cpu:.0f} s of processor time")
    for name in names:
        cpu, folder = time.process_time(), out / name
        folder.mkdir(parents=True, exist_ok=True)
        settings = MODELS[name] | {"target_vocab_size": outputs}
        torch.manual_seed(SEED)
        model = Recurrent(settings)
        fit(model, batches(random.Random(SEED), sources, targets), STEPS)
        save_file(dict(model.state_dict()), folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps(settings, indent=2) + "\n")
        tokenizer.save(str(folder / "tokenizer.json"))
        say(f"{name}: {time.process_time() - cpu:.0f} s of processor time")
        shown = measure(folder, wanted)
        (folder / "greedy.txt").write_text("".join(f"{line}\n" for line in shown))
    say(f"{time.time() - begin:.0f} s in all")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="where the models' folders are")
    parser.add_argument("names", nargs="*", metavar="MODEL",
                        help=f"some of {', '.join(MODELS)}; all without one")
    parser.add_argument("--evaluate", action="store_true", help="measure the models that are there")
    options = parser.parse_args()
    unknown = set(options.names) - set(MODELS)
    if unknown:
        parser.error(f"unknown model '{min(unknown)}', expected one of {', '.join(MODELS)}")
    torch.set_num_threads(1)
    names = options.names or list(MODELS)
    if options.evaluate:
        for name in names:
            measure(options.out / name, heldout())
    else:
        train(options.out, names)
    return 0


if __name__ == "__main__":
    sys.exit(main())
