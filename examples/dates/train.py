#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of this folder and measures it.

    pip install torch safetensors tokenizers numpy
    train.py OUT                 config.json, model.safetensors, tokenizer.json, heldout.tsv in OUT
    train.py --evaluate MODEL    exact match on the heldout.tsv of this folder

Seeds are fixed. It is one thread that trains: at this size a second one gains little.
"""

import argparse
import json
import math
import random
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from torch.nn import functional as F

from generate import pairs
from transformer import BOS, EOS, PAD, UNK, Transformer

# The second round begins with what the first wrote, and learns from other, harder pairs.
ROUNDS = [{"seed": 1, "steps": 5000, "rate": 2e-3}, {"seed": 3, "steps": 4000, "rate": 1.2e-3}]
PAIRS, BATCH, THREADS = 500000, 128, 1
HELDOUT_SEED, HELDOUT = 2, 6000
CONFIG = {
    "model_type": "transformer", "vocab_size": 448, "d_model": 128, "encoder_layers": 3,
    "decoder_layers": 2, "heads": 4, "d_ff": 512, "norm": "pre", "layer_norm_eps": 1e-6,
    "positions": "sinusoidal", "max_positions": 256, "tie_embeddings": True, "activation": "relu",
    "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS,
}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def distinct(seed, count, known=(), hard=False):
    """The first count pairs of a seed, each line once, none of those known."""
    found = {}
    for source, target in pairs(seed, 1 << 60, hard):
        if source in known:
            continue
        if found.setdefault(source, target) != target:
            raise ValueError(f"'{source}' is '{found[source]}' and '{target}', expected one form")
        if len(found) == count:
            return found
    return found


def learn_tokenizer(training):
    """Byte-level BPE; digits stay single, so that numbers of any length read alike."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False)])
    specials = ["<pad>", "<s>", "</s>", "<unk>"]
    tokenizer.train_from_iterator(
        training, trainers.BpeTrainer(vocab_size=CONFIG["vocab_size"], special_tokens=specials,
                                      initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
                                      show_progress=False))
    # No merge holds a digit, so they need no pre-tokenizer of their own any more.
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", EOS)])
    return tokenizer


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def batches(rng, sources, targets, size):
    """Endless batches of lines of about the same length."""
    while True:
        order = list(range(len(sources)))
        rng.shuffle(order)
        pool = 50 * size
        for begin in range(0, len(order) - size, pool):
            chosen = sorted(order[begin:begin + pool],
                            key=lambda i: (len(sources[i]), len(targets[i])))
            groups = [chosen[i:i + size] for i in range(0, len(chosen), size)]
            rng.shuffle(groups)
            for group in groups:
                target = padded([targets[i] for i in group])
                yield padded([sources[i] for i in group]), target[:, :-1], target[:, 1:]


def normalise(model, tokenizer, lines, size=500):
    """The normal forms of lines, by greedy search."""
    sources = [encoding.ids for encoding in tokenizer.encode_batch(lines)]
    found = [""] * len(lines)
    order = sorted(range(len(lines)), key=lambda i: len(sources[i]))
    for begin in range(0, len(order), size):
        group = order[begin:begin + size]
        tokens = model.greedy(padded([sources[i] for i in group]), 48).tolist()
        for i, row in zip(group, tokens):
            found[i] = tokenizer.decode([token for token in row if token > UNK])
    return found


def exact(model, tokenizer, wanted, show):
    """The share of lines whose normal form is found; shows some of the others."""
    found = normalise(model, tokenizer, list(wanted))
    wrong = [(line, want, got) for (line, want), got in zip(wanted.items(), found) if want != got]
    for line, want, got in wrong[:show]:
        say(f"  {line!r}: {got!r}, expected {want!r}")
    return 1 - len(wrong) / len(wanted)


def fit(model, tokenizer, training, seed, steps, rate):
    """AdamW, the rate rising, then falling along a cosine. Returns the mean of the last weights."""
    sources = [encoding.ids for encoding in tokenizer.encode_batch(list(training))]
    targets = [[BOS] + encoding.ids for encoding in tokenizer.encode_batch(list(training.values()))]
    say(f"{sum(map(len, sources)) / len(sources):.1f} tokens a line, "
        f"{sum(map(len, targets)) / len(targets):.1f} a normal form")
    average = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), eps=1e-9,
                                  weight_decay=0.01, fused=True)
    begin, loss_sum = time.time(), 0.0
    feed = batches(random.Random(seed), sources, targets, BATCH)
    model.train()
    for step, (source, target, following) in zip(range(1, steps + 1), feed):
        optimizer.param_groups[0]["lr"] = rate * min(step / 500, 1) * (
            0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))
        logits = model.decode(*model.encode(source), target)
        loss = F.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=PAD)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        keep = min(0.998, step / (step + 10))
        with torch.no_grad():
            for weight, mean in zip(model.parameters(), average.values()):
                mean.lerp_(weight, 1 - keep)
        loss_sum += loss.item()
        if step % 500 == 0:
            say(f"step {step}: loss {loss_sum / 500:.4f}, {time.time() - begin:.0f} s")
            loss_sum = 0.0
    return average


def train(options):
    begin, cpu = time.time(), time.process_time()
    known = distinct(ROUNDS[0]["seed"], PAIRS)
    heldout = distinct(HELDOUT_SEED, HELDOUT, known)
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    for number, plan in enumerate(ROUNDS[options.round - 1:], options.round):
        say(f"round {number}")
        torch.manual_seed(plan["seed"])
        if number == 1:
            training, tokenizer = known, learn_tokenizer(list(known)[:50000])
            model = Transformer(CONFIG)
        else:
            training = distinct(plan["seed"], PAIRS, heldout, hard=True)
            model, tokenizer = load(out)
        weights = fit(model, tokenizer, training, **plan)
        # Half of the bytes; what is measured are the rounded weights.
        save_file({name: weight.half().contiguous() for name, weight in weights.items()},
                  out / "model.safetensors")
        (out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
        tokenizer.save(str(out / "tokenizer.json"))
    say(f"trained in {time.time() - begin:.0f} s, "
        f"{time.process_time() - cpu:.0f} s of processor time")
    (out / "heldout.tsv").write_text(
        "".join(f"{line}\t{normal}\n" for line, normal in heldout.items()))
    measure(out, heldout)


def load(folder):
    model = Transformer(json.loads((folder / "config.json").read_text()))
    weights = load_file(folder / "model.safetensors")
    model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    return model.eval(), Tokenizer.from_file(str(folder / "tokenizer.json"))


def measure(folder, wanted):
    say(f"exact match {exact(*load(folder), wanted, show=40):.4f} of {len(wanted)} lines")


def evaluate(options):
    lines = Path(__file__).with_name("heldout.tsv").read_text().splitlines()
    measure(options.out, dict(line.split("\t") for line in lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="the folder of the model")
    parser.add_argument("--evaluate", action="store_true", help="measure the model that is there")
    parser.add_argument("--round", type=int, default=1,
                        help="begin with this round, OUT has what those before wrote")
    options = parser.parse_args()
    torch.set_num_threads(THREADS)
    (evaluate if options.evaluate else train)(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
