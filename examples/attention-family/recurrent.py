# SPDX-License-Identifier: Apache-2.0
"""Recurrent encoder-decoders as docs/model-format.md describes them, made for training: parameters
have the names and shapes of the format, and whole batches are computed at once.

All sources of a batch have the same length. That leaves no padding for a step or for an attention
to see: what is trained is what a compiled model computes of each line alone.
"""

import torch
from torch import nn
from torch.nn import functional as F

PAD, BOS, EOS = 0, 1, 2


class Cell(nn.Module):
    """The parameters of a GRU whose reset gate comes after the recurrent product."""

    def __init__(self, inputs, n):
        super().__init__()
        self.input, self.hidden = nn.Linear(inputs, 3 * n), nn.Linear(n, 3 * n)

    def weights(self):
        return [self.input.weight, self.hidden.weight, self.input.bias, self.hidden.bias]


def advance(wx, uh, h):
    """One step, given W x + b and U h + b'."""
    n = h.shape[-1]
    w, x = wx.split([2 * n, n], -1)
    u, y = uh.split([2 * n, n], -1)
    reset, update = (w + u).sigmoid().chunk(2, -1)
    return torch.lerp(torch.addcmul(x, reset, y).tanh(), h, update)


class Attention(nn.Module):
    """Scores of a query q [B, n] against rows H [B, S, w], their softmax, and what it picks."""

    def __init__(self, config, n, w):
        super().__init__()
        self.kind, self.window = config["kind"], config.get("window")
        if self.kind in ("additive", "location"):
            width = config["width"]
            self.query = nn.Linear(n, width, bias=False)
            self.memory = nn.Linear(w, width, bias=self.kind == "location")
            self.v = nn.Parameter(torch.empty(width))
        if self.kind == "location":
            maps = 2 if config["cumulative"] else 1
            self.filters = nn.Parameter(torch.empty(config["filters"], maps, config["kernel"]))
            self.location = nn.Linear(config["filters"], config["width"], bias=False)
            self.smooth = config["normaliser"] == "smooth"
        if self.kind == "general":
            self.weight = nn.Parameter(torch.empty(n, w))
        if self.window:
            self.position = nn.Linear(n, n, bias=False)
            self.position_v = nn.Parameter(torch.empty(n))

    def prepare(self, rows):
        """What every step uses of the rows."""
        return rows @ self.weight.T if self.kind == "general" else self.memory(rows)

    def begin(self, rows):
        """What is carried from step to step: the alignments so far, the last one and their sum."""
        return rows.new_zeros(len(rows), self.filters.shape[1], rows.shape[1]) \
            if self.kind == "location" else None

    def forward(self, q, keys, rows, carried):
        """The context of each query, its alignment, and what is carried."""
        if self.kind == "general":
            scores = torch.bmm(keys, q[..., None])[..., 0]
        else:
            inner = keys + self.query(q)[:, None]
            if self.kind == "location":
                seen = F.conv1d(carried, self.filters, padding=self.filters.shape[-1] // 2)
                inner = inner + self.location(seen.transpose(1, 2))
            scores = inner.tanh() @ self.v
        if self.window:
            weights = self.near(q[:, None], scores[:, None])[:, 0]
        elif self.kind == "location" and self.smooth:
            weights = scores.sigmoid()
            weights = weights / weights.sum(-1, keepdim=True)
        else:
            weights = scores.softmax(-1)
        if carried is not None:
            carried = torch.stack([weights, carried[:, 1] + weights], 1) \
                if carried.shape[1] == 2 else weights[:, None]
        return torch.bmm(weights[:, None], rows)[:, 0], weights, carried

    def contexts(self, q, rows):
        """The contexts of queries [B, T, n] by products within a window."""
        weights = self.near(q, torch.bmm(q, self.prepare(rows).transpose(1, 2)))
        return torch.bmm(weights, rows)

    def near(self, q, scores):
        """Weights within a window around p = S sigmoid(v . tanh(W q)); [B, T, n], [B, T, S]."""
        size, length = self.window["size"], scores.shape[-1]
        p = length * (self.position(q).tanh() @ self.position_v).sigmoid()[..., None]
        j = torch.arange(length)
        centre = p.detach().floor().clamp(max=length - 1)
        seen = scores.masked_fill((j - centre).abs() > size, float("-inf")).softmax(-1)
        return seen * (-(j - p) ** 2 / (2 * (size / 2) ** 2)).exp()


class Recurrent(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config, encoder, decoder = config, config["encoder"], config["decoder"]
        m, n, w = config["d_embed"], decoder["hidden"], 2 * encoder["hidden"]
        kind = config["attention"]["kind"]
        self.first, self.feed = decoder["order"] == "attend-first", decoder["feed"]
        self.attention = None if kind == "none" else Attention(config["attention"], n, w)
        self.source = nn.Embedding(config["vocab_size"], m)
        self.target = nn.Embedding(config["target_vocab_size"], m)
        self.encoder = nn.Module()
        self.encoder.layers = nn.ModuleList([nn.ModuleDict(
            {way: Cell(m, encoder["hidden"]) for way in ("forwards", "backwards")})])
        context = w if self.attention else 0
        fed = context if self.first else {"none": 0, "context": w, "attentional": n}[self.feed]
        self.layers = nn.ModuleList([Cell(m + fed, n)])
        self.bridge = nn.ModuleList([nn.Linear(w, n)])
        self.combine = nn.Linear(context + n, n, bias=False)
        self.output = nn.Linear(n, config["target_vocab_size"])
        for name, weight in self.named_parameters():
            initialise(name, weight)

    def encode(self, source):
        """Rows [B, S, w] of the sources [B, S], and the state [B, n] the decoder begins with."""
        cells = self.encoder.layers[0]
        forwards, backwards = cells["forwards"], cells["backwards"]
        begin = torch.zeros(2, len(source), self.config["encoder"]["hidden"])
        rows, last = torch.gru(self.source(source), begin, forwards.weights() + backwards.weights(),
                               True, 1, 0.0, self.training, True, True)
        return rows, self.bridge[0](torch.cat([last[0], last[1]], -1)).tanh()

    def decode(self, source, target):
        """Logits [B, T, V] after each of the target's tokens."""
        rows, h = self.encode(source)
        cell = self.layers[0]
        if not self.attention or not self.first and self.feed == "none":
            # No step needs what another one looked at.
            states = torch.gru(self.target(target), h[None], cell.weights(), True, 1, 0.0,
                               self.training, False, True)[0]
            return self.output(self.read(self.look(states, rows)))
        m = self.config["d_embed"]
        wx = F.linear(self.target(target), cell.input.weight[:, :m], cell.input.bias)
        keys = self.attention.prepare(rows) if self.attention else None
        carried = self.attention.begin(rows) if self.attention else None
        fed, out = h.new_zeros(len(source), cell.input.weight.shape[1] - m), []
        for now in wx.unbind(1):
            h, fed, carried, z = self.step(now, h, fed, carried, keys, rows)
            out.append(z)
        return self.output(self.read(torch.stack(out, 1)))

    def look(self, states, rows):
        """What is read out of all states at once."""
        if not self.attention:
            return states
        return torch.cat([self.attention.contexts(states, rows), states], -1)

    def read(self, z):
        """The readout of all steps at once, unless the steps themselves needed it."""
        return z if self.feed == "attentional" else F.linear(z, self.combine.weight).tanh()

    def step(self, wx, h, fed, carried, keys, rows):
        """The state, what the next step is fed with, what attention carries, what is read out."""
        cell = self.layers[0]
        m = self.config["d_embed"]
        if self.attention and self.first:
            fed, _, carried = self.attention(h, keys, rows, carried)
        if fed.shape[1]:
            wx = torch.addmm(wx, fed, cell.input.weight[:, m:].T)
        h = advance(wx, cell.hidden(h), h)
        if not self.attention:
            return h, fed, carried, h
        if self.first:
            return h, fed, carried, torch.cat([fed, h], -1)
        context, _, carried = self.attention(h, keys, rows, carried)
        z = torch.cat([context, h], -1)
        if self.feed == "attentional":
            z = fed = self.combine(z).tanh()
        elif self.feed == "context":
            fed = context
        return h, fed, carried, z

    @torch.no_grad()
    def greedy(self, source, longest):
        """Tokens [B, up to longest] of a greedy search, zeros after the end."""
        rows, h = self.encode(source)
        cell, m = self.layers[0], self.config["d_embed"]
        keys = self.attention.prepare(rows) if self.attention else None
        carried = self.attention.begin(rows) if self.attention else None
        fed = h.new_zeros(len(source), cell.input.weight.shape[1] - m)
        token, ended, found = torch.full([len(source)], BOS), torch.zeros(len(source)).bool(), []
        while len(found) < longest and not ended.all():
            wx = F.linear(self.target(token), cell.input.weight[:, :m], cell.input.bias)
            h, fed, carried, z = self.step(wx, h, fed, carried, keys, rows)
            token = self.output(self.read(z)).argmax(-1).masked_fill(ended, PAD)
            found.append(token)
            ended |= token == EOS
        return torch.stack(found, 1)


@torch.no_grad()
def initialise(name, weight):
    """Recurrent products begin as rotations, which neither grow nor shrink a state."""
    if name.endswith("hidden.weight"):
        for part in weight.split(weight.shape[1]):
            nn.init.orthogonal_(part)
    elif name in ("source.weight", "target.weight"):
        nn.init.normal_(weight, std=0.3)
    elif weight.dim() > 1:
        nn.init.xavier_uniform_(weight)
    elif name.endswith("v"):
        nn.init.normal_(weight, std=0.3)
    else:
        nn.init.zeros_(weight)
