#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoder-only speed: writes one random Llama for both engines, then times llama.cpp.

    python llama.py make WORK_DIR [--size 213m|tiny]     WORK_DIR/heddle (Hugging Face's layout), WORK_DIR/model.gguf: the same weights
    python llama.py time WORK_DIR --threads 1 [--cases prompt,decode-1,decode-8,decode-32,prefix-32]
    python llama.py tokens WORK_DIR                      greedy tokens after a fixed prompt, to see that both compute the same model

What is timed, in seconds:
    prompt     a prompt of 512 tokens to the logits of its last row
    decode-N   64 steps of N sequences together, each after a prompt of 16 tokens, which is not timed
    prefix-N   N prompts of 512 tokens, of which the first 480 are the same, to the logits of their last rows

llama.cpp keeps keys and values in f16 by default, Heddle in f32; weights are f32 in both.
"""
import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from decoders import BEFORE, PROMPT, RUNS, SHARED, SIZES, STEPS  # noqa: E402

EPSILON, BASE, POSITIONS = 1e-5, 10000.0, 2048


def random_weights(size):
    """Tensors under the names of Hugging Face's Llama, matrices [outputs, inputs]."""
    rng = np.random.default_rng(0)
    head = size["width"] // size["heads"]
    kv = head * size["kv_heads"]
    width, inner = size["width"], size["inner"]

    def matrix(outputs, inputs):
        values = rng.standard_normal((outputs, inputs), dtype=np.float32)
        return values / np.float32(np.sqrt(inputs))

    weights = {"model.embed_tokens.weight": matrix(size["vocabulary"], width),
               "model.norm.weight": np.ones(width, np.float32),
               "lm_head.weight": matrix(size["vocabulary"], width)}
    for layer in range(size["layers"]):
        at = f"model.layers.{layer}."
        shapes = {"self_attn.q_proj": (width, width), "self_attn.k_proj": (kv, width),
                  "self_attn.v_proj": (kv, width), "self_attn.o_proj": (width, width),
                  "mlp.gate_proj": (inner, width), "mlp.up_proj": (inner, width),
                  "mlp.down_proj": (width, inner)}
        for name, shape in shapes.items():
            weights[f"{at}{name}.weight"] = matrix(*shape)
        for name in ("input_layernorm", "post_attention_layernorm"):
            weights[f"{at}{name}.weight"] = np.ones(width, np.float32)
    return weights


def write_folder(folder, size, weights):
    from safetensors.numpy import save_file

    os.makedirs(folder, exist_ok=True)
    save_file(weights, os.path.join(folder, "model.safetensors"))
    config = dict(model_type="llama", architectures=["LlamaForCausalLM"],
                  vocab_size=size["vocabulary"], hidden_size=size["width"],
                  intermediate_size=size["inner"], num_hidden_layers=size["layers"],
                  num_attention_heads=size["heads"], num_key_value_heads=size["kv_heads"],
                  max_position_embeddings=POSITIONS, rms_norm_eps=EPSILON, rope_theta=BASE,
                  hidden_act="silu", tie_word_embeddings=False, attention_bias=False,
                  mlp_bias=False, bos_token_id=1, eos_token_id=2)
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file, indent=2)


def interleaved(matrix, heads):
    """llama.cpp rotates neighbouring elements of a head, Hugging Face its two halves."""
    outputs, inputs = matrix.shape
    return matrix.reshape(heads, 2, outputs // heads // 2, inputs).swapaxes(1, 2).reshape(
        outputs, inputs)


def write_gguf(path, size, weights):
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    head = size["width"] // size["heads"]
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(size["width"])
    writer.add_block_count(size["layers"])
    writer.add_feed_forward_length(size["inner"])
    writer.add_rope_dimension_count(head)
    writer.add_rope_freq_base(BASE)
    writer.add_head_count(size["heads"])
    writer.add_head_count_kv(size["kv_heads"])
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_vocab_size(size["vocabulary"])
    writer.add_file_type(0)
    writer.add_tokenizer_model("no_vocab")
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    parts = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
             "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
             "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
             "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm"}
    turned = {"self_attn.q_proj": size["heads"], "self_attn.k_proj": size["kv_heads"]}
    for layer in range(size["layers"]):
        for theirs, ours in parts.items():
            names[f"model.layers.{layer}.{theirs}"] = f"blk.{layer}.{ours}"
    for name, values in weights.items():
        stem = name.removesuffix(".weight")
        part = stem.split(".", 3)[-1]
        if part in turned:
            values = np.ascontiguousarray(interleaved(values, turned[part]))
        writer.add_tensor(names[stem] + ".weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def prompt_tokens(count, length, vocabulary, shared=0):
    """Prompts of ordinary tokens; the first `shared` of them are those of the first prompt."""
    rng = np.random.default_rng(1)
    prompts = rng.integers(3, vocabulary, (count, length))
    prompts[:, :shared] = prompts[0, :shared]
    return prompts


class LlamaCpp:
    """A model of llama.cpp, and what is timed of it."""

    def __init__(self, path, threads, sequences, positions):
        import llama_cpp

        self.c = llama_cpp
        os.sched_setaffinity(0, set(range(threads)))
        self.quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.quiet, None)
        llama_cpp.llama_backend_init()
        self.model = llama_cpp.llama_model_load_from_file(
            path.encode(), llama_cpp.llama_model_default_params())
        if not self.model:
            raise OSError(f"llama.cpp cannot load '{path}'")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = sequences * positions
        options.n_batch = max(512, sequences)
        options.n_seq_max = sequences
        options.n_threads = options.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, options)
        if not self.context:
            raise OSError("llama.cpp cannot make a context")
        self.memory = llama_cpp.llama_get_memory(self.context)
        self.batch = llama_cpp.llama_batch_init(options.n_batch, 0, 1)
        self.limit = options.n_batch
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def clear(self):
        self.c.llama_memory_clear(self.memory, True)

    def run(self, rows):
        """Rows (token, position, sequence, whether its logits are wanted), in batches."""
        for begin in range(0, len(rows), self.limit):
            part = rows[begin:begin + self.limit]
            self.batch.n_tokens = len(part)
            for index, (token, position, sequence, wanted) in enumerate(part):
                self.batch.token[index] = int(token)
                self.batch.pos[index] = position
                self.batch.n_seq_id[index] = 1
                self.batch.seq_id[index][0] = sequence
                self.batch.logits[index] = int(wanted)
            failed = self.c.llama_decode(self.context, self.batch)
            if failed:
                raise OSError(f"llama_decode answers {failed}")

    def read(self, prompts, first=0):
        for sequence, tokens in enumerate(prompts):
            last = len(tokens) - 1
            self.run([(token, first + index, sequence, index == last)
                      for index, token in enumerate(tokens)])

    def best(self, row):
        logits = self.c.llama_get_logits_ith(self.context, row)
        return int(np.argmax(np.ctypeslib.as_array(logits, (self.vocabulary,))))

    def prompt(self):
        tokens = prompt_tokens(1, PROMPT, self.vocabulary)
        self.clear()
        start = time.perf_counter()
        self.read(tokens)
        return time.perf_counter() - start

    def decode(self, sequences):
        self.clear()
        self.read(prompt_tokens(sequences, BEFORE, self.vocabulary))
        tokens = [3] * sequences
        start = time.perf_counter()
        for step in range(STEPS):
            self.run([(tokens[sequence], BEFORE + step, sequence, True)
                      for sequence in range(sequences)])
            tokens = [self.best(sequence) for sequence in range(sequences)]
        return time.perf_counter() - start

    def prefix(self, sequences):
        """Its users copy the cells of the common beginning, which costs nothing."""
        prompts = prompt_tokens(sequences, PROMPT, self.vocabulary, SHARED)
        self.clear()
        start = time.perf_counter()
        self.read(prompts[:1, :SHARED])
        for sequence in range(1, sequences):
            self.c.llama_memory_seq_cp(self.memory, 0, sequence, -1, -1)
        self.read(prompts[:, SHARED:], SHARED)
        return time.perf_counter() - start


def timed(case, path, threads):
    """The median of RUNS runs, after one."""
    kind, _, count = case.partition("-")
    sequences = int(count or 1)
    positions = {"prompt": PROMPT, "decode": BEFORE + STEPS, "prefix": PROMPT}[kind]
    engine = LlamaCpp(path, threads, sequences, positions)
    work = engine.prompt if kind == "prompt" else lambda: getattr(engine, kind)(sequences)
    work()
    return statistics.median(work() for _ in range(RUNS))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["make", "time", "tokens"])
    parser.add_argument("work")
    parser.add_argument("--size", default="213m", choices=list(SIZES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cases", default="prompt,decode-1,decode-8,decode-32,prefix-32")
    options = parser.parse_args()
    path = os.path.join(options.work, "model.gguf")
    if options.what == "make":
        size = SIZES[options.size]
        weights = random_weights(size)
        write_folder(os.path.join(options.work, "heddle"), size, weights)
        write_gguf(path, size, weights)
    elif options.what == "tokens":
        engine = LlamaCpp(path, 1, 1, BEFORE + STEPS)
        tokens = prompt_tokens(1, BEFORE, engine.vocabulary)
        engine.read(tokens)
        found = [engine.best(-1)]
        for step in range(STEPS - 1):
            engine.run([(found[-1], BEFORE + step, 0, True)])
            found.append(engine.best(-1))
        print(json.dumps(dict(prompt=tokens[0].tolist(), tokens=found)))
    else:
        for case in options.cases.split(","):
            seconds = timed(case, path, options.threads)
            print(json.dumps(dict(engine="llama.cpp", threads=options.threads, case=case,
                                  ms=round(seconds * 1e3, 3))), flush=True)


if __name__ == "__main__":
    main()
