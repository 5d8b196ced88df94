#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Encoder-decoder speed: writes one random Transformer for both engines, then times CTranslate2.

    python translate.py make WORK_DIR [--size base|big] [--vocab 32000]   WORK_DIR/heddle (native checkpoint), WORK_DIR/ct2: the same weights
    python translate.py time WORK_DIR --precision float32|int8|float16 --threads 1 [--device cpu|cuda] [--cases 1x1,1x4,8x1,32x1,32x4]   cases are batch x beam

24 source tokens, exactly 24 target tokens, so that every engine does the same work: compare target tokens per second.
"""
import argparse, json, os, time
import numpy as np

p = argparse.ArgumentParser()
p.add_argument("what", choices=["make", "time"]); p.add_argument("work"); p.add_argument("--size", default="base"); p.add_argument("--vocab", type=int, default=32000)
p.add_argument("--precision", default="float32", choices=["float32", "int8", "float16"]); p.add_argument("--device", default="cpu", choices=["cpu", "cuda"]); p.add_argument("--threads", type=int, default=1); p.add_argument("--cases", default="1x1,1x4,8x1,32x1,32x4")
a = p.parse_args()
import ctranslate2

if a.what == "make":
    from ctranslate2.specs import common_spec, transformer_spec
    from safetensors.numpy import save_file
    d, ff, h = (512, 2048, 8) if a.size == "base" else (1024, 4096, 16)
    rng, native = np.random.default_rng(0), {}
    spec = transformer_spec.TransformerSpec.from_config((6, 6), h, pre_norm=False, activation=common_spec.Activation.RELU)
    def linear(name, o, i):
        w, b = (rng.standard_normal((o, i)) / np.sqrt(i)).astype(np.float32), (0.01 * rng.standard_normal(o)).astype(np.float32)
        native[name + ".weight"], native[name + ".bias"] = w, b
        return w, b
    def put(s, *parts):
        s.weight, s.bias = np.concatenate([w for w, _ in parts]), np.concatenate([b for _, b in parts])
    def norm(s, name):
        s.gamma = native[name + ".weight"] = np.ones(d, np.float32); s.beta = native[name + ".bias"] = np.zeros(d, np.float32)
    table = native["shared.weight"] = (rng.standard_normal((a.vocab, d)) * d ** -0.5).astype(np.float32)
    for e in (spec.encoder.embeddings[0] if isinstance(spec.encoder.embeddings, list) else spec.encoder.embeddings, spec.decoder.embeddings):
        e.weight, e.multiply_by_sqrt_depth = table, True
    spec.decoder.projection.weight, spec.decoder.projection.bias = table, np.zeros(a.vocab, np.float32)
    for stack, layers in (("encoder", spec.encoder.layer), ("decoder", spec.decoder.layer)):
        for n, l in enumerate(layers):
            at = f"{stack}.layers.{n}."
            q, k, v, o = (linear(at + "self_attention." + x, d, d) for x in ("query", "key", "value", "output"))
            put(l.self_attention.linear[0], q, k, v); put(l.self_attention.linear[1], o); norm(l.self_attention.layer_norm, at + "self_attention_norm")
            if stack == "decoder":
                q, k, v, o = (linear(at + "cross_attention." + x, d, d) for x in ("query", "key", "value", "output"))
                put(l.attention.linear[0], q); put(l.attention.linear[1], k, v); put(l.attention.linear[2], o); norm(l.attention.layer_norm, at + "cross_attention_norm")
            put(l.ffn.linear_0, linear(at + "ffn.inner", ff, d)); put(l.ffn.linear_1, linear(at + "ffn.outer", d, ff)); norm(l.ffn.layer_norm, at + "ffn_norm")
    words = ["<blank>", "<s>", "</s>", "<unk>"] + [f"w{i}" for i in range(a.vocab - 4)]
    spec.register_source_vocabulary(words); spec.register_target_vocabulary(words)
    spec.validate(); spec.optimize()
    for x in ("ct2", "heddle"): os.makedirs(os.path.join(a.work, x), exist_ok=True)
    spec.save(os.path.join(a.work, "ct2"))
    save_file(native, os.path.join(a.work, "heddle", "model.safetensors"))
    json.dump(dict(model_type="transformer", vocab_size=a.vocab, d_model=d, encoder_layers=6, decoder_layers=6, heads=h, d_ff=ff, norm="post", layer_norm_eps=1e-5, positions="sinusoidal-split",
                   max_positions=512, tie_embeddings=True, activation="relu", pad_token_id=0, bos_token_id=1, eos_token_id=2), open(os.path.join(a.work, "heddle", "config.json"), "w"), indent=2)
else:
    if a.device == "cpu": os.sched_setaffinity(0, set(range(a.threads)))
    t = ctranslate2.Translator(os.path.join(a.work, "ct2"), device=a.device, compute_type=a.precision, intra_threads=a.threads, inter_threads=1)
    rng = np.random.default_rng(1)
    for case in a.cases.split(","):
        b, beam = map(int, case.split("x"))
        source = [[f"w{i}" for i in rng.integers(0, a.vocab - 4, 24)] for _ in range(b)]
        run = lambda: t.translate_batch(source, beam_size=beam, min_decoding_length=24, max_decoding_length=24, max_batch_size=b)
        run(); times, start = [], time.time()
        while len(times) < 3 or time.time() - start < 2: s = time.perf_counter(); run(); times.append(time.perf_counter() - s)
        m = sorted(times)[len(times) // 2]
        print(json.dumps(dict(engine="ctranslate2-" + a.precision, threads=a.threads, batch=b, beam=beam, ms=round(m * 1e3, 3), tokens_per_s=round(b * 24 / m, 1))), flush=True)
