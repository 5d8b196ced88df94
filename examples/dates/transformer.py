# SPDX-License-Identifier: Apache-2.0
"""The Transformer of model_type "transformer" in PyTorch: pre-norm, tied embeddings, sinusoidal
positions. Tensors have the names that heddlec reads."""

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS, UNK = 0, 1, 2, 3


def sinusoid(positions, width):
    """[positions, width]: sine of p / 10000^(2i/width) in dimension 2i, its cosine in 2i + 1."""
    angle = torch.arange(positions)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    return torch.stack([angle.sin(), angle.cos()], 2).flatten(1)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, width = config["heads"], config["d_model"]
        self.query, self.key, self.value, self.output = (nn.Linear(width, width) for _ in range(4))

    def project(self, inputs, layers):
        """One product for several projections of inputs: [batch, heads, length, width] each."""
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        parts = F.linear(inputs, weight, bias).chunk(len(layers), -1)
        return [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]

    def attend(self, query, key, value, visible=None, causal=False):
        context = F.scaled_dot_product_attention(query, key, value, visible, is_causal=causal)
        return self.output(context.transpose(1, 2).flatten(2))

    def itself(self, inputs, visible=None, causal=False):
        projected = self.project(inputs, [self.query, self.key, self.value])
        return self.attend(*projected, visible, causal)

    def other(self, inputs, memory, visible):
        return self.attend(*self.project(inputs, [self.query]),
                           *self.project(memory, [self.key, self.value]), visible)


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.inner = nn.Linear(config["d_model"], config["d_ff"])
        self.outer = nn.Linear(config["d_ff"], config["d_model"])

    def forward(self, inputs):
        return self.outer(self.inner(inputs).relu())


class Layer(nn.Module):
    """x + f(norm(x)) for each of self attention, cross attention in the decoder, feed-forward."""

    def __init__(self, config, decoder):
        super().__init__()
        norm = lambda: nn.LayerNorm(config["d_model"], eps=config["layer_norm_eps"])
        self.self_attention, self.self_attention_norm = Attention(config), norm()
        if decoder:
            self.cross_attention, self.cross_attention_norm = Attention(config), norm()
        self.ffn, self.ffn_norm = FeedForward(config), norm()

    def forward(self, states, visible=None, memory=None, memory_visible=None):
        causal = memory is not None
        states = states + self.self_attention.itself(self.self_attention_norm(states), visible,
                                                     causal)
        if causal:
            states = states + self.cross_attention.other(self.cross_attention_norm(states), memory,
                                                         memory_visible)
        return states + self.ffn(self.ffn_norm(states))


class Stack(nn.Module):
    def __init__(self, config, layers, decoder):
        super().__init__()
        self.layers = nn.ModuleList(Layer(config, decoder) for _ in range(layers))
        self.norm = nn.LayerNorm(config["d_model"], eps=config["layer_norm_eps"])


class Transformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.width = config["d_model"]
        self.shared = nn.Embedding(config["vocab_size"], self.width)
        self.encoder = Stack(config, config["encoder_layers"], False)
        self.decoder = Stack(config, config["decoder_layers"], True)
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
        states = self.embed(source)
        for layer in self.encoder.layers:
            states = layer(states, visible)
        return self.encoder.norm(states), visible

    def decode(self, memory, visible, target):
        """Logits [batch, length, vocabulary] of the token after each of target."""
        states = self.embed(target)
        for layer in self.decoder.layers:
            states = layer(states, None, memory, visible)
        return self.decoder.norm(states) @ self.shared.weight.T

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
