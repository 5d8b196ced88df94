#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of this folder; evaluate.py measures it.

    pip install torch transformers tokenizers safetensors
    train.py OUT                 a folder as Hugging Face's Llama models have it
    train.py OUT --steps 500     shorter

Seeds are fixed. One thread trains. Every 250 steps are kept in OUT/checkpoint.pt, where the same
command goes on after an interruption. Only answers are learned, not what people ask.
"""

import argparse
import json
import math
import random
import time
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

from conversations import messages

PAD, BEGIN, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
VOCABULARY, POSITIONS, BATCH, KEPT = 640, 512, 32, 250
RATE, WARMUP = 3e-3, 100
# A turn: <|im_start|>user, a line break, its text, <|im_end|>, a line break.
TEMPLATE = (
    "{% for message in messages %}"
    "{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
# Words with what stands before them; digits one by one.
PIECES = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def turns(conversation):
    """Texts of a conversation as the template renders it, and whether each is learned."""
    for message in conversation:
        yield f"{BEGIN}{message['role']}\n", False
        yield f"{message['content']}{END}", message["role"] == "assistant"
        yield "\n", False


def make_tokenizer():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(PIECES), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    rng = random.Random(0)
    texts = (message["content"] for _ in range(20000) for message in messages(rng))
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[PAD, BEGIN, END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def encoded(tokenizer, conversation):
    """Ids, and the same as labels, -100 where nothing is learned."""
    ids, labels = [], []
    for text, learned in turns(conversation):
        piece = tokenizer.encode(text, add_special_tokens=False).ids
        ids += piece
        labels += piece if learned else [-100] * len(piece)
    return ids, labels


def batches(tokenizer, seed):
    """Batches of conversations of about the same length, for ever."""
    rng = random.Random(seed)
    while True:
        drawn = sorted((encoded(tokenizer, messages(rng)) for _ in range(BATCH * 16)),
                       key=lambda pair: len(pair[0]))
        groups = [drawn[first:first + BATCH] for first in range(0, len(drawn), BATCH)]
        rng.shuffle(groups)
        for group in groups:
            longest = max(len(ids) for ids, _ in group)
            yield (torch.tensor([ids + [0] * (longest - len(ids)) for ids, _ in group]),
                   torch.tensor([labels + [-100] * (longest - len(labels)) for _, labels in group]))


def make_model():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=128, intermediate_size=336, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=POSITIONS,
        rms_norm_eps=1e-5, rope_theta=10000.0, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=2, pad_token_id=0))


def rate(step, steps):
    """Linear up, then along a cosine to a twentieth."""
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    part = (step - WARMUP) / max(1, steps - WARMUP)
    return RATE * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * min(part, 1))))


def train(options, tokenizer):
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    kept, first = options.out / "checkpoint.pt", 0
    if kept.exists():
        state = torch.load(kept)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    source, losses, begin = batches(tokenizer, 1000 + first), [], time.time()
    for step in range(first, options.steps):
        ids, labels = next(source)
        for group in optimizer.param_groups:
            group["lr"] = rate(step, options.steps)
        loss = model(input_ids=ids, labels=labels).loss
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if (step + 1) % KEPT == 0 or step + 1 == options.steps:
            print(f"step {step + 1}: loss {sum(losses) / len(losses):.4f}, "
                  f"{time.time() - begin:.0f} s", flush=True)
            losses = []
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                        "step": step + 1}, kept)
    return model


def save(options, tokenizer, model):
    model.generation_config.eos_token_id = 2
    model.to(torch.bfloat16).save_pretrained(options.out)
    tokenizer.save(str(options.out / "tokenizer.json"))
    (options.out / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "pad_token": PAD,
         "bos_token": None, "chat_template": TEMPLATE, "model_max_length": POSITIONS}, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    save(options, tokenizer, train(options, tokenizer))


if __name__ == "__main__":
    main()
