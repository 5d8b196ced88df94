# SPDX-License-Identifier: Apache-2.0
"""The Transformer of model_type "transformer" in PyTorch: pre-norm, tied embeddings, sinusoidal
positions; also with weighted branches, or with attention shared by decoder layers, as config.json
says. Tensors have the names that heddlec reads."""

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS, UNK = 0, 1, 2, 3


def sinusoid(positions, width):
    """[positions, width]: sine of p / 10000^(2i/width) in dimension 2i, its cosine in 2i + 1."""
    angle = torch.arange(positions)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)


class Attention(nn.Module):
    """The projections of an attention. What one with fewer parts lacks, others give it."""

    def __init__(self, config, parts=("query", "key", "value", "output")):
        super().__init__()
        self.heads, width = config["heads"], config["d_model"]
        for part in parts:
            setattr(self, part, nn.Linear(width, width))

    def project(self, inputs, *parts):
        """One product for several projections of inputs: [batch, heads, length, width] each."""
        layers = [getattr(self, part) for part in parts]
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        projected = F.linear(inputs, weight, bias).chunk(len(layers), -1)
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in projected]

    def merge(self, context):
        return self.output(context.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = nn.Linear(config["d_model"], config["d_ff"])
        self.outer = nn.Linear(config["d_ff"], config["d_model"])

    def forward(self, inputs):
        return self.outer(self.inner(inputs).relu())


class Branch(nn.Module):
    """W_i^O of one head, and a feed-forward network of its own."""

    def __init__(self, config):
        super().__init__()
        width, count = config["d_model"], config["branches"]["count"]
        self.output = nn.Linear(width // count, width)
        self.inner = nn.Linear(width, config["d_ff"] // count)
        self.outer = nn.Linear(config["d_ff"] // count, width)


class BranchedAttention(nn.Module):
    """sum_i alpha_i FFN_i(kappa_i head_i W_i^O): in the place of W^O and the feed-forward network.
    kappa and alpha are not negative and sum to one, which their trainer sees to."""

    def __init__(self, config):
        super().__init__()
        if config["branches"]["ffn"] != "per-branch":
            raise ValueError(f"branches have ffn '{config['branches']['ffn']}', "
                             "expected 'per-branch'")
        count = config["branches"]["count"]
        self.attention = Attention(config, ("query", "key", "value"))
        self.branches = nn.ModuleList(Branch(config) for _ in range(count))
        for name in ["kappa", "alpha"]:
            drawn = torch.rand(count)
            setattr(self, name, nn.Parameter(drawn / drawn.sum()))

    def forward(self, context):
        """context: the heads' [batch, heads, length, width].

        W_i^O and the inner weight of FFN_i are multiplied first. Nothing lies between them, so it
        is the same function with the same gradients, for less work a token."""
        stack = lambda part, of: torch.stack([getattr(getattr(branch, part), of)
                                              for branch in self.branches])
        inner, kappa = stack("inner", "weight"), self.kappa[:, None, None]
        weight = kappa * (inner @ stack("output", "weight"))
        bias = (kappa * (inner @ stack("output", "bias")[:, :, None])).squeeze(2)
        bias = (bias + stack("inner", "bias"))[:, None]
        hidden = (context @ weight.transpose(1, 2) + bias).relu()
        outer = self.alpha[:, None, None] * stack("outer", "weight").transpose(1, 2)
        return hidden.transpose(1, 2).flatten(2) @ outer.flatten(0, 1) + (
            self.alpha @ stack("outer", "bias"))


class Layer(nn.Module):
    """x + f(norm(x)) for each of self attention, cross attention in the decoder, feed-forward.

    With branches, the last attention and the feed-forward network are one f. A layer that does not
    begin a block of shared attention has only what it does not take from the one that does: the
    value and output projections of self attention, the output projection of cross attention."""

    def __init__(self, config, decoder, begins_self, begins_cross):
        super().__init__()
        self.decoder, self.begins_self, self.begins_cross = decoder, begins_self, begins_cross
        norm = lambda: nn.LayerNorm(config["d_model"], eps=config["layer_norm_eps"])
        branched = "branches" in config
        if decoder or not branched:
            parts = ("query", "key", "value", "output") if begins_self else ("value", "output")
            self.self_attention, self.self_attention_norm = Attention(config, parts), norm()
        if decoder and not branched:
            parts = ("query", "key", "value", "output") if begins_cross else ("output",)
            self.cross_attention, self.cross_attention_norm = Attention(config, parts), norm()
        if branched:
            self.branched, self.branched_norm = BranchedAttention(config), norm()
        else:
            self.ffn, self.ffn_norm = FeedForward(config), norm()

    def itself(self, attention, inputs, visible, shared):
        """Contexts of an attention whose keys are the rows themselves."""
        if self.begins_self:
            query, key, value = attention.project(inputs, "query", "key", "value")
            shared["self"].append((query, key))
        else:
            # The block's probabilities. To compute them again is faster here than to keep them.
            (query, key), (value,) = shared["self"][-1], attention.project(inputs, "value")
        if self.decoder:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return F.scaled_dot_product_attention(query, key, value, visible)

    def other(self, attention, inputs, memory, visible, shared):
        """Contexts of an attention whose keys are the rows of memory, or those of the block."""
        if self.begins_cross:
            (query,) = attention.project(inputs, "query")
            key, value = attention.project(memory, "key", "value")
            shared["cross"].append((query, key))
            shared["context"] = F.scaled_dot_product_attention(query, key, value, visible)
        return shared["context"]

    def forward(self, states, visible, memory, shared):
        """visible: where the keys of the encoder are lines and not padding. shared: what the layers
        of a stack have in common; it keeps the queries and keys of all attentions."""
        if hasattr(self, "self_attention"):
            normed, attention = self.self_attention_norm(states), self.self_attention
            states = states + attention.merge(self.itself(attention, normed, visible, shared))
        if hasattr(self, "cross_attention"):
            normed, attention = self.cross_attention_norm(states), self.cross_attention
            states = states + attention.merge(
                self.other(attention, normed, memory, visible, shared))
        if hasattr(self, "ffn"):
            return states + self.ffn(self.ffn_norm(states))
        normed, attention = self.branched_norm(states), self.branched.attention
        context = (self.other(attention, normed, memory, visible, shared) if self.decoder
                   else self.itself(attention, normed, visible, shared))
        return states + self.branched(context)


class Stack(nn.Module):
    def __init__(self, config, decoder):
        super().__init__()
        count = config["decoder_layers" if decoder else "encoder_layers"]

        def begins(kind):
            """Of every layer: whether it begins a block."""
            blocks = config.get(kind) if decoder else None
            return [place == 0 for size in blocks or [1] * count for place in range(size)]

        self.layers = nn.ModuleList(
            Layer(config, decoder, *both) for both in zip(begins("self_attention_sharing"),
                                                          begins("cross_attention_sharing")))
        self.norm = nn.LayerNorm(config["d_model"], eps=config["layer_norm_eps"])

    def forward(self, states, visible, memory=None):
        """The states after all layers, and what the layers shared."""
        shared = {"self": [], "cross": []}
        for layer in self.layers:
            states = layer(states, visible, memory, shared)
        return self.norm(states), shared


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config["d_model"]
        self.shared = nn.Embedding(config["vocab_size"], self.width)
        self.encoder = Stack(config, False)
        self.decoder = Stack(config, True)
        self.positions = sinusoid(config["max_positions"], self.width)
        for name, weight in self.named_parameters():
            if name == "shared.weight":
                nn.init.normal_(weight, std=self.width**-0.5)
            elif weight.dim() == 2:
                nn.init.xavier_uniform_(weight)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def embed(self, tokens):
        return self.shared(tokens) * self.width**0.5 + self.positions[: tokens.shape[1]]

    def encode(self, source):
        """(what the decoder attends to, where it may)."""
        visible = (source != PAD)[:, None, None, :]
        return self.encoder(self.embed(source), visible)[0], visible

    def decode(self, memory, visible, target):
        """Logits [batch, length, vocabulary] of the token after each of target."""
        return self.decoder(self.embed(target), visible, memory)[0] @ self.shared.weight.T

    @torch.no_grad()
    def greedy(self, source, longest):
        """The likeliest token, one after the other: [batch, length], PAD after EOS."""
        memory, visible = self.encode(source)
        target = torch.full((len(source), 1), BOS)
        while target.shape[1] <= longest:
            token = self.decode(memory, visible, target)[:, -1].argmax(-1)
            ended = (target[:, -1] == EOS) | (target[:, -1] == PAD)
            target = torch.cat([target, torch.where(ended, PAD, token)[:, None]], 1)
            if bool(((token == EOS) | ended).all()):
                break
        return target[:, 1:]
