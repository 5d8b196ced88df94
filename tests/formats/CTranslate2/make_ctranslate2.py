# SPDX-License-Identifier: Apache-2.0
"""Makes ctranslate2/: random Transformers of odd sizes as CTranslate2 itself writes them, each with
expected.safetensors, its weights as f32 under the names of the project's own format. What the f32
models answer is in scores.jsonl, one sentence a line: token ids of the source, as the encoder sees
them, and of a target, and the log-probabilities of the target's tokens and its end.

    python make_ctranslate2.py FOLDER      needs ctranslate2, safetensors and torch (for bfloat16)

The same versions give the same files.
"""

import json
import pathlib
import sys

import ctranslate2
import numpy
from ctranslate2.specs import common_spec, transformer_spec
from safetensors.numpy import save_file

WIDTH, HEADS, INNER = 6, 2, 10


class Maker:
    def __init__(self, seed):
        self.random = numpy.random.default_rng(seed)
        # (own name, function that gives the values once they are stored)
        self.own = []

    def values(self, *shape):
        return self.random.standard_normal(shape).astype(numpy.float32)

    def linear(self, spec, prefix, parts, rows, columns):
        spec.weight = self.values(len(parts) * rows, columns)
        spec.bias = self.values(len(parts) * rows)
        for i, part in enumerate(parts):
            cut = slice(i * rows, (i + 1) * rows)
            self.own.append((f"{prefix}{part}.weight", lambda cut=cut: real(spec, "weight")[cut]))
            self.own.append((f"{prefix}{part}.bias", lambda cut=cut: real(spec, "bias")[cut]))

    def norm(self, spec, name):
        spec.gamma, spec.beta = self.values(WIDTH), self.values(WIDTH)
        self.own.append((name + ".weight", lambda: real(spec, "gamma")))
        self.own.append((name + ".bias", lambda: real(spec, "beta")))

    def layer(self, spec, to, is_decoder):
        self.linear(spec.self_attention.linear[0], to + "self_attention.",
                    ["query", "key", "value"], WIDTH, WIDTH)
        self.linear(spec.self_attention.linear[1], to + "self_attention.", ["output"], WIDTH, WIDTH)
        self.norm(spec.self_attention.layer_norm, to + "self_attention_norm")
        if is_decoder:
            linear = spec.attention.linear
            self.linear(linear[0], to + "cross_attention.", ["query"], WIDTH, WIDTH)
            self.linear(linear[1], to + "cross_attention.", ["key", "value"], WIDTH, WIDTH)
            self.linear(linear[2], to + "cross_attention.", ["output"], WIDTH, WIDTH)
            self.norm(spec.attention.layer_norm, to + "cross_attention_norm")
        self.linear(spec.ffn.linear_0, to + "ffn.", ["inner"], INNER, WIDTH)
        self.linear(spec.ffn.linear_1, to + "ffn.", ["outer"], WIDTH, INNER)
        self.norm(spec.ffn.layer_norm, to + "ffn_norm")

    def stack(self, spec, name):
        for i, layer in enumerate(spec.layer):
            self.layer(layer, f"{name}.layers.{i}.", name == "decoder")
        for part, own in (("layer_norm", "norm"), ("layernorm_embedding", "embedding_norm")):
            if hasattr(spec, part):
                self.norm(getattr(spec, part), f"{name}.{own}")


def real(spec, name):
    """What a stored variable stands for."""
    variable = getattr(spec, name)
    if variable.dtype == "bfloat16":
        return variable.tensor.float().numpy()
    stored = variable.numpy()
    scale = getattr(spec, name + "_scale", "__optional")
    if isinstance(scale, str):
        return stored.astype(numpy.float32)
    scale = scale.numpy()
    return stored.astype(numpy.float32) / (scale[:, None] if scale.ndim else scale)


def words(count):
    return ["<blank>", "<s>", "</s>"] + [f"w{i}" for i in range(count - 4)] + ["<unk>"]


def tied():
    """Post-norm, one table for everything, computed positions."""
    make = Maker(1)
    spec = transformer_spec.TransformerSpec.from_config((2, 1), HEADS, pre_norm=False)
    table = make.values(13, WIDTH)
    first = spec.encoder.embeddings[0]
    first.weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    spec.decoder.projection.bias = make.values(13)
    # The first of its names in the alphabet keeps the table, the others become aliases.
    make.own.append(("shared.weight", lambda: real(spec.decoder.embeddings, "weight")))
    make.own.append(("output.bias", lambda: real(spec.decoder.projection, "bias")))
    make.stack(spec.encoder, "encoder")
    make.stack(spec.decoder, "decoder")
    spec.register_source_vocabulary(words(13))
    spec.register_target_vocabulary(words(13))
    spec.config.add_source_eos = True
    return make, spec


def separate():
    """Pre-norm, two vocabularies, position tables of two lengths and every option."""
    make = Maker(2)
    spec = transformer_spec.TransformerSpec.from_config(
        (1, 2), HEADS, pre_norm=True, activation=common_spec.Activation.SWISH,
        alignment_layer=0, alignment_heads=0, layernorm_embedding=True)
    for stack, name, count, length in ((spec.encoder, "encoder", 9, 8),
                                       (spec.decoder, "decoder", 11, 7)):
        table = stack.embeddings[0] if name == "encoder" else stack.embeddings
        table.weight = make.values(count, WIDTH)
        stack.position_encodings.encodings = make.values(length, WIDTH)
        stack.scale_embeddings = False
        make.own.append((name + ".embed.weight", lambda table=table: real(table, "weight")))
        make.own.append((name + ".positions.weight",
                         lambda s=stack: real(s.position_encodings, "encodings")[:7]))
        make.stack(stack, name)
    spec.decoder.start_from_zero_embedding = True
    spec.decoder.projection.weight = make.values(11, WIDTH)
    make.own.append(("output.weight", lambda: real(spec.decoder.projection, "weight")))
    spec.register_source_vocabulary(words(9))
    spec.register_target_vocabulary(words(11)[::-1])
    spec.config.layer_norm_epsilon = 1e-6
    spec.config.decoder_start_token = "</s>"
    return make, spec


def vocabulary(folder, name):
    file = folder / f"{name}_vocabulary.json"
    return json.loads((file if file.exists() else folder / "shared_vocabulary.json").read_text())


def score(folder):
    """What CTranslate2 says of random sentences."""
    source, target = vocabulary(folder, "source"), vocabulary(folder, "target")
    has_end = json.loads((folder / "config.json").read_text())["add_source_eos"]
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    random = numpy.random.default_rng(3)
    lines = []
    for _ in range(20):
        words, reference = (
            [f"w{i}" for i in random.integers(count - 4, size=random.integers(least, 6))]
            for count, least in ((len(source), 1), (len(target), 0)))
        result = translator.score_batch([words], [reference])[0]
        seen = words + ["</s>"] * has_end
        lines.append(json.dumps({"source": [source.index(word) for word in seen],
                                 "target": [target.index(word) for word in reference],
                                 "scores": [round(value, 6) for value in result.log_probs]}))
    (folder / "scores.jsonl").write_text("\n".join(lines) + "\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    cases = [("tied-f32", tied, "float32"), ("tied-bf16", tied, "bfloat16"),
             ("tied-i8", tied, "int8"), ("tied-i16", tied, "int16"),
             ("tied-i8-f16", tied, "int8_float16"), ("separate", separate, "float32")]
    for name, build, quantization in cases:
        make, spec = build()
        spec.validate()
        spec.optimize(quantization)
        where = folder / name
        where.mkdir(parents=True, exist_ok=True)
        spec.save(str(where))
        save_file({own: numpy.ascontiguousarray(value()) for own, value in make.own},
                  str(where / "expected.safetensors"))
        if quantization == "float32":
            score(where)


main()
