#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of this folder and measures it.

    pip install torch safetensors tokenizers numpy
    train.py OUT                 config.json, model.safetensors, tokenizer.json, heldout.tsv in OUT
    train.py OUT --variant weighted
    train.py OUT --variant shared --base MODEL --policy ANALYSIS.json
    train.py --evaluate MODEL    exact match on the heldout.tsv of this folder

Seeds are fixed. It is one thread that trains: at this size a second one gains little. Every 500
steps are kept in OUT/checkpoint.pt, where the same command goes on after an interruption.
"""

import argparse
import itertools
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
from simplex import onto_simplex
from transformer import BOS, EOS, PAD, UNK, Transformer

PAIRS, BATCH, THREADS, KEPT = 500000, 128, 1, 500
HELDOUT_SEED, HELDOUT = 2, 6000
STANDARD = {
    "model_type": "transformer", "vocab_size": 448, "d_model": 128, "encoder_layers": 3,
    "decoder_layers": 2, "heads": 4, "d_ff": 512, "norm": "pre", "layer_norm_eps": 1e-6,
    "positions": "sinusoidal", "max_positions": 256, "tie_embeddings": True, "activation": "relu",
    "pad_token_id": PAD, "bos_token_id": BOS, "eos_token_id": EOS,
}
# About as many parameters: a layer of branches has no feed-forward network beside its attention.
WEIGHTED = STANDARD | {"decoder_layers": 4, "d_ff": 256,
                       "branches": {"count": STANDARD["heads"], "ffn": "per-branch"}}
CONFIGS = {"standard": STANDARD, "weighted": WEIGHTED}
# Each round begins with what the one before wrote, the shared variant with another model. All but
# seed 1 draw harder pairs. What a schedule means: Optimizer.
ROUNDS = {
    "standard": [{"seed": 1, "steps": 5000, "schedule": {"rate": 2e-3, "end": 5000}},
                 {"seed": 3, "steps": 4000, "schedule": {"rate": 1.2e-3, "end": 4000}}],
    "weighted": [{"seed": 1, "steps": 2500, "schedule": {"rate": 2e-3, "end": 5000}},
                 {"seed": 3, "steps": 1300,
                  "schedule": {"rate": 1e-3, "warmup": 100, "hold": 500, "end": 1650,
                               "frozen": 1150, "keep": 0.99}},
                 {"seed": 5, "steps": 750,
                  "schedule": {"rate": 4e-4, "warmup": 50, "end": 1300, "frozen": 1300,
                               "keep": 0.995}},
                 {"seed": 3, "steps": 1800,
                  "schedule": {"rate": 6e-4, "warmup": 50, "hold": 571, "end": 1800,
                               "frozen": 1800, "keep": 0.995}},
                 {"seed": 5, "steps": 1400,
                  "schedule": {"rate": 6e-4, "warmup": 50, "end": 1400, "frozen": 1400,
                               "keep": 0.995}}],
    "shared": [{"seed": 5, "steps": 1250,
                "schedule": {"rate": 6e-4, "warmup": 50, "hold": 617, "end": 1250,
                             "keep": 0.99}}],
}
# The weights of branches are bounded, so they learn faster: after the warm-up, which takes a tenth
# of the others', by the root of the number of layers.
FASTER, SOONER = WEIGHTED["decoder_layers"] ** 0.5, 10


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
        training, trainers.BpeTrainer(vocab_size=STANDARD["vocab_size"], special_tokens=specials,
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


def bounded(name):
    """Whether a parameter is the weights of branches."""
    return name.endswith((".kappa", ".alpha"))


class Optimizer:
    """AdamW, the rate rising, then falling along a cosine; the weights of branches have their own
    rate and lie on the simplex after every step. Keeps the mean of the last weights."""

    def __init__(self, model, rate, end, hold=0, warmup=500, frozen=0, keep=0.998):
        """The rate falls from the step hold to the step end. In the last frozen steps the weights
        of branches stay as they are. keep: what a step leaves of the mean."""
        self.model, self.rate, self.hold, self.end = model, rate, hold, end
        self.warmup, self.frozen, self.keep = warmup, frozen, keep
        self.step, named = 0, list(model.named_parameters())
        self.average = {name: weight.detach().clone() for name, weight in named}
        self.on_simplex = [weight for name, weight in named if bounded(name)]
        groups = [{"params": [weight for name, weight in named if not bounded(name)]},
                  {"params": self.on_simplex, "weight_decay": 0.0}]
        self.adam = torch.optim.AdamW(groups[:2 if self.on_simplex else 1], betas=(0.9, 0.98),
                                      eps=1e-9, weight_decay=0.01, fused=True)

    def minimise(self, loss):
        self.step += 1
        fallen = max(0, self.step - self.hold) / (self.end - self.hold)
        falling = self.rate * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * fallen)))
        rates = [falling * min(self.step / self.warmup, 1),
                 falling * min(self.step * SOONER / self.warmup, 1) * FASTER]
        if self.step > self.end - self.frozen:
            rates[1] = 0.0
        for group, rate in zip(self.adam.param_groups, rates):
            group["lr"] = rate
        self.adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.adam.step()
        with torch.no_grad():
            if rates[1]:
                for weight in self.on_simplex:
                    weight.copy_(torch.tensor(onto_simplex(weight.tolist())))
            keep = min(self.keep, self.step / (self.step + 10))
            for weight, mean in zip(self.model.parameters(), self.average.values()):
                mean.lerp_(weight, 1 - keep)

    def state(self):
        return {"step": self.step, "average": self.average, "model": self.model.state_dict(),
                "adam": self.adam.state_dict()}

    def resume(self, state):
        self.step, self.average = state["step"], state["average"]
        self.model.load_state_dict(state["model"])
        self.adam.load_state_dict(state["adam"])


def fit(model, tokenizer, training, checkpoint, number, plan):
    """Trains, from the checkpoint if there is one. Returns the mean of the last weights."""
    sources = [encoding.ids for encoding in tokenizer.encode_batch(list(training))]
    targets = [[BOS] + encoding.ids for encoding in tokenizer.encode_batch(list(training.values()))]
    say(f"{sum(map(len, sources)) / len(sources):.1f} tokens a line, "
        f"{sum(map(len, targets)) / len(targets):.1f} a normal form")
    optimizer = Optimizer(model, **plan["schedule"])
    if checkpoint.exists():
        optimizer.resume(torch.load(checkpoint)["state"])
    begin, loss_sum = time.time(), 0.0
    feed = itertools.islice(batches(random.Random(plan["seed"]), sources, targets, BATCH),
                            optimizer.step, plan["steps"])
    model.train()
    for source, target, following in feed:
        logits = model.decode(*model.encode(source), target)
        loss = F.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=PAD)
        optimizer.minimise(loss)
        loss_sum += loss.item()
        if optimizer.step % KEPT == 0:
            say(f"step {optimizer.step}: loss {loss_sum / KEPT:.4f}, {time.time() - begin:.0f} s")
            loss_sum = 0.0
            save_checkpoint(checkpoint, number, optimizer.state())
    return optimizer.average


def save_checkpoint(path, number, state):
    """Whole or not at all."""
    torch.save({"round": number, "state": state}, path.with_suffix(".new"))
    path.with_suffix(".new").replace(path)


def save(folder, config, tokenizer, weights):
    """Half of the bytes; what is measured are the rounded weights. A mean of points of the simplex
    lies on it, but for what many additions round."""
    rounded = {name: (torch.tensor(onto_simplex(weight.tolist())) if bounded(name)
                      else weight.half().contiguous()) for name, weight in weights.items()}
    save_file(rounded, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))


def train(options):
    begin, cpu = time.time(), time.process_time()
    known = distinct(1, PAIRS)
    heldout = distinct(HELDOUT_SEED, HELDOUT, known)
    out, checkpoint = options.out, options.out / "checkpoint.pt"
    out.mkdir(parents=True, exist_ok=True)
    first = torch.load(checkpoint)["round"] if checkpoint.exists() else options.round
    for number, plan in enumerate(ROUNDS[options.variant][first - 1:], first):
        say(f"round {number}")
        torch.manual_seed(plan["seed"])
        hard = plan["seed"] != 1
        training = distinct(plan["seed"], PAIRS, heldout, hard) if hard else known
        model, tokenizer, config = beginning(options, number, known)
        weights = fit(model, tokenizer, training, checkpoint, number, plan)
        save(out, config, tokenizer, weights)
        checkpoint.unlink(missing_ok=True)
    say(f"trained in {time.time() - begin:.0f} s, "
        f"{time.process_time() - cpu:.0f} s of processor time")
    (out / "heldout.tsv").write_text(
        "".join(f"{line}\t{normal}\n" for line, normal in heldout.items()))
    measure(out, heldout)


def beginning(options, number, known):
    """What a round begins with: (model, tokenizer, config)."""
    if options.variant == "shared":
        return sharing(options.base, options.policy)
    if number > 1:
        return *load(options.out), json.loads((options.out / "config.json").read_text())
    config = CONFIGS[options.variant]
    return Transformer(config), learn_tokenizer(list(known)[:50000]), config


def sharing(base, policy):
    """A model with the policy that an analysis recommends, and the weights of base it still has."""
    policies = {kind["kind"]: kind["policy"] for kind in json.loads(policy.read_text())["kinds"]}
    config = json.loads((base / "config.json").read_text()) | {
        "self_attention_sharing": policies["decoder"], "cross_attention_sharing": policies["cross"]}
    model = Transformer(config)
    known, tokenizer = load(base)
    model.load_state_dict({name: weight for name, weight in known.state_dict().items()
                           if name in model.state_dict()})
    return model, tokenizer, config


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
    parser.add_argument("--variant", choices=ROUNDS, default="standard",
                        help="what to train, %(default)s by default")
    parser.add_argument("--base", type=Path, help="the model that 'shared' begins with")
    parser.add_argument("--policy", type=Path, metavar="JSON",
                        help="the analysis of base by divergence.py or heddle analyze, with a theta")
    options = parser.parse_args()
    if options.variant == "shared" and not (options.base and options.policy):
        parser.error("the variant 'shared' needs --base and --policy")
    torch.set_num_threads(THREADS)
    (evaluate if options.evaluate else train)(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
