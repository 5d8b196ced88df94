# SPDX-License-Identifier: Apache-2.0
"""Plain PyTorch reference of recurrent encoder-decoders and their attention: the oracle, written to be read beside the
formulas (PAPERS.md, section 5).

    python reference.py make OUT_DIR SEED [NAME...]   train small models on a toy task, save them with expected outputs
    python reference.py check DIR                     recompute a folder's expected outputs from its files

Folder: config.json, model.safetensors (linear weights are [out, in]), expected.safetensors.
There is no padding inside: every example is computed alone, at its own lengths, and results are padded with zeros.
expected: source [B,S] and target [B,T] int32 (0 = pad, right padded; target starts with BOS); the memory
encoder [B,S,w], row j for source token j, w both directions side by side; start.hidden [layers,B,n] (LSTM also start.cell),
the decoder before its first step; teacher forced, row t after reading target t: decoder [B,T,n], what the top layer gives,
attention [B,T,S] (with attention), context [B,T,w], position [B,T], p_t (predictive windows alone), logits [B,T,V] f32;
greedy.tokens [B,L], beam4.tokens [B,4,L] and beam4.scores [B,4] (best first; 0 after the end; EOS kept).
The metadata "max_length" is the cap of a search: "source + 50" tokens, EOS counted.
Computed in float64 from the stored float32 weights: a float32 implementation differs by up to 6e-5 in a logit.
"""
import json, os, sys
import torch
from torch import nn
from torch.nn import functional as F
from safetensors.torch import save_file, load_file

PAD, BOS, EOS = 0, 1, 2
NEG = float("-inf")


class Cell(nn.Module):
    """One step of a recurrent layer: x [B,m], state (h, c) [B,n] each (c is of the LSTM alone). Rows of `input` and `hidden`:
    tanh one part; gru reset, update, candidate; gru-reset-after the same, with a bias of `hidden`; lstm input, forget, candidate, output."""
    def __init__(self, kind, m, n):
        super().__init__()
        parts = {"tanh": 1, "gru": 3, "gru-reset-after": 3, "lstm": 4}[kind]
        self.kind, self.n = kind, n
        self.input, self.hidden = nn.Linear(m, parts * n), nn.Linear(n, parts * n, bias=kind == "gru-reset-after")

    def forward(self, x, state):
        (h, c), w = state, self.input(x)
        if self.kind == "tanh":                                                  # h = tanh(W x + U h + b)
            return (w + self.hidden(h)).tanh(), c
        if self.kind == "lstm":                                                  # c = f c + i g; h = o tanh(c)
            i, f, g, o = (w + self.hidden(h)).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            return o.sigmoid() * c.tanh(), c
        r, u, g = w.chunk(3, -1)
        if self.kind == "gru":                                                   # h = (1 - u) h + u tanh(W x + U (r h) + b)
            R, U, G = self.hidden.weight.chunk(3)
            r, u = (r + h @ R.T).sigmoid(), (u + h @ U.T).sigmoid()
            return (1 - u) * h + u * (g + (r * h) @ G.T).tanh(), c
        hr, hu, hg = self.hidden(h).chunk(3, -1)                                 # h = (1 - u) tanh(W x + b + r (U h + b')) + u h
        r, u = (r + hr).sigmoid(), (u + hu).sigmoid()
        return (1 - u) * (g + r * hg).tanh() + u * h, c

    def run(self, x):
        """All steps of x [B,S,m] from zeros: the states [B,S,n], and the last one."""
        state, out = (x.new_zeros(len(x), self.n),) * 2, []
        for t in range(x.shape[1]):
            state = self(x[:, t], state)
            out.append(state[0])
        return torch.stack(out, 1), state


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        e, width = c["encoder"], c["d_embed"]
        self.e, self.layers, self.widths = e, nn.ModuleList(), []
        for l in range(e["layers"]):
            both = e["bidirectional"] is True or (e["bidirectional"] == "first" and l == 0)
            self.layers.append(nn.ModuleDict({d: Cell(e["cell"], width, e["hidden"]) for d in (("forwards", "backwards") if both else ("forwards",))}))
            width = e["hidden"] * (2 if both else 1)
            self.widths.append(width)

    def forward(self, x):
        """[B,S,m] -> memory [B,S,w] and the last state (h, c) of each layer: after the last token forward, after the first backward."""
        if self.e.get("reverse"): x = x.flip(1)
        last = []
        for l, layer in enumerate(self.layers):
            y, end = layer["forwards"].run(x)
            if "backwards" in layer:
                z, start = layer["backwards"].run(x.flip(1))
                y, end = torch.cat([y, z.flip(1)], -1), tuple(torch.cat(p, -1) for p in zip(end, start))
            x = x + y if l >= self.e.get("residual_from", len(self.layers)) else y
            last.append(end)
        return (x.flip(1) if self.e.get("reverse") else x), last


class Attention(nn.Module):
    """e_j of the query q [B,n] and the memory H [B,S,w]; a = softmax(e) over the source or a window of it; c = sum_j a_j h_j."""
    def __init__(self, a, n, w):
        super().__init__()
        self.a, kind, self.near = a, a["kind"], []
        if kind in ("additive", "location"):
            self.query, self.v = nn.Linear(n, a["width"], bias=False), nn.Parameter(torch.zeros(a["width"]))
            if a.get("project_memory", True): self.memory = nn.Linear(w, a["width"], bias=kind == "location")
        if kind == "location":
            self.filters = nn.Parameter(torch.zeros(a["filters"], 2 if a.get("cumulative") else 1, a["kernel"]))
            self.location = nn.Linear(a["filters"], a["width"], bias=False)
        if kind == "general": self.weight = nn.Parameter(torch.zeros(n, w))
        if kind == "concat": self.weight, self.v = nn.Parameter(torch.zeros(a["width"], n + w)), nn.Parameter(torch.zeros(a["width"]))
        if a.get("window", {}).get("kind") == "predictive":
            self.position, self.position_v = nn.Linear(n, n, bias=False), nn.Parameter(torch.zeros(n))

    def begin(self, H):
        """What is carried from step to step: the last alignment and the sum of all, [B,S] each."""
        first = H.new_zeros(H.shape[:2])
        if self.a.get("first") == "one-hot": first[:, 0] = 1
        return first, first

    def scores(self, q, H, carried):
        kind = self.a["kind"]
        if kind == "dot": return (H @ q[..., None])[..., 0]                                     # q . h_j
        if kind == "general": return (H @ (q @ self.weight)[..., None])[..., 0]                 # q^T W h_j
        if kind == "concat": return torch.cat([q[:, None].expand(-1, H.shape[1], -1), H], -1).matmul(self.weight.T).tanh() @ self.v
        inner = self.query(q)[:, None] + (self.memory(H) if hasattr(self, "memory") else H)     # v . tanh(W q + U h_j)
        if kind == "location":                                                                  # ... + L f_j + b, f = filters * alignments
            maps = torch.stack(carried if self.a.get("cumulative") else carried[:1], 1)         # f_jk = sum_ci filters[k,c,i] maps[c, j + i - kernel // 2]
            inner = inner + self.location(F.conv1d(maps, self.filters, padding=self.a["kernel"] // 2).transpose(1, 2))
        return inner.tanh() @ self.v

    def forward(self, q, H, carried, t):
        """Step t from 0. A window [p - D, p + D] is cut at both ends; its softmax comes first, then the Gaussian, which nothing normalises."""
        e, S, window, p = self.scores(q, H, carried), H.shape[1], self.a.get("window"), None
        j = torch.arange(S).to(q.dtype)
        if window:
            if window["kind"] == "monotonic": centre = torch.full((len(q), 1), float(min(t, S - 1)), dtype=q.dtype)
            else:
                p = S * (self.position(q).tanh() @ self.position_v).sigmoid()[:, None]          # p_t = S sigmoid(v . tanh(W q))
                centre = p.floor().clamp(max=S - 1)
                self.near.append((p - p.round()).abs().min().item())
            e = e.masked_fill((j - centre).abs() > window["size"], NEG)
        if self.a.get("normaliser") == "smooth": a = e.sigmoid() / e.sigmoid().sum(-1, keepdim=True)
        else: a = e.softmax(-1)
        if p is not None: a = a * (-(j - p) ** 2 / (2 * (window["size"] / 2) ** 2)).exp()
        return a, (a[:, None] @ H)[:, 0], (a, carried[1] + a), p


class Recurrent(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, d, m, V = c, c["decoder"], c["d_embed"], c.get("target_vocab_size", c["vocab_size"])
        self.source, self.target = nn.Embedding(c["vocab_size"], m), nn.Embedding(V, m)
        self.encoder, n = Encoder(c), d["hidden"]
        w, kind = self.encoder.widths[-1], c["attention"]["kind"]
        context = 0 if kind == "none" else w
        if kind not in ("none", "last"): self.attention = Attention(c["attention"], n, w)
        feed = context if d["order"] == "attend-first" else {"none": 0, "context": context, "attentional": n}[d["feed"]]
        self.layers = nn.ModuleList(Cell(d["cell"], m + feed if l == 0 else n, n) for l in range(d["layers"]))
        if c["bridge"] in ("backward", "linear"):
            self.bridge = nn.ModuleList(nn.Linear(c["encoder"]["hidden"] if c["bridge"] == "backward" else w, n, bias=c["bridge"] == "linear") for _ in self.layers)
        r, top = c["readout"], n
        if r["kind"] == "attentional": self.combine, top = nn.Linear(context + n, n, bias=False), n
        if r["kind"] == "maxout":
            self.readout = nn.ModuleDict(dict(state=nn.Linear(n, 2 * r["width"]), embedding=nn.Linear(m, 2 * r["width"], bias=False)))
            if context: self.readout["context"] = nn.Linear(context, 2 * r["width"], bias=False)
            top = r["width"]
            if r.get("rank"): self.readout["factor"], top = nn.Linear(top, r["rank"], bias=False), r["rank"]
        self.output = nn.Linear(top, V)

    def encode(self, source):
        """The memory, the last state of its top layer, and the states that the decoder's layers begin with."""
        memory, last = self.encoder(self.source(source))
        zeros, bridge, e = memory.new_zeros(len(source), self.c["decoder"]["hidden"]), self.c["bridge"], self.c["encoder"]
        x = last[-1][0][:, -e["hidden"]:] if bridge == "backward" else last[-1][0]               # backward: the state at the first token
        if bridge == "copy": start = last
        elif bridge == "zeros": start = [(zeros, zeros) for _ in self.layers]
        else: start = [(b(x).tanh(), zeros) for b in self.bridge]                                # an LSTM's c begins with zeros
        return memory, last[-1][0], start

    def step(self, t, y, state, memory, last):
        """y [B,m] is the embedding of the token before; `attend-first` looks with the state before it, `state-first` with the new one."""
        d, r, kind = self.c["decoder"], self.c["readout"], self.c["attention"]["kind"]
        layers, carried, context, attentional = state

        def attend(q):
            if kind == "none": return None, q[:, :0], carried, None
            if kind == "last": return None, last, carried, None
            return self.attention(q, memory, carried, t)

        def advance(x):
            new = []
            for l, cell in enumerate(self.layers):
                new.append(cell(x, layers[l]))
                x = x + new[-1][0] if l >= d.get("residual_from", len(self.layers)) else new[-1][0]
            return new, x

        before = layers[-1][0]
        if d["order"] == "attend-first":
            alignment, context, carried, p = attend(before)
            layers, top = advance(torch.cat([y, context], -1))
        else:
            layers, top = advance(torch.cat([y] + {"none": [], "context": [context], "attentional": [attentional]}[d["feed"]], -1))
            alignment, context, carried, p = attend(top)
        z = before if r.get("state") == "previous" else top
        if r["kind"] == "attentional": z = attentional = self.combine(torch.cat([context, z], -1)).tanh()
        if r["kind"] == "maxout":
            z = self.readout["state"](z) + self.readout["embedding"](y) + (self.readout["context"](context) if "context" in self.readout else 0)
            z = z.unflatten(-1, (-1, 2)).max(-1).values                                          # of columns 2k and 2k + 1
            if "factor" in self.readout: z = self.readout["factor"](z)
        return self.output(z), (layers, carried, context, attentional), dict(decoder=top, attention=alignment, context=context, position=None if p is None else p[:, 0])

    def decode(self, encoded, target, keep=None):
        memory, last, start = encoded
        w = {"none": 0}.get(self.c["attention"]["kind"], memory.shape[-1])
        carried = self.attention.begin(memory) if hasattr(self, "attention") else None
        state = (start, carried, memory.new_zeros(len(target), w), memory.new_zeros(len(target), self.c["decoder"]["hidden"]))
        logits, kept = [], {}
        for t in range(target.shape[1]):
            out, state, inner = self.step(t, self.target(target[:, t]), state, memory, last)
            logits.append(out)
            for k, v in inner.items():
                if v is not None and v.shape[-1]: kept.setdefault(k, []).append(v)
        if keep is not None:
            keep.update({k: torch.stack(v, 1) for k, v in kept.items()})
            keep["start.hidden"] = torch.stack([h for h, _ in start], 1)
            if self.c["decoder"]["cell"] == "lstm": keep["start.cell"] = torch.stack([c for _, c in start], 1)
        return torch.stack(logits, 1)


def repeat(x, n):
    return x.expand(n, *x.shape[1:]) if torch.is_tensor(x) else type(x)(repeat(v, n) for v in x)


def beam_search(model, encoded, cap, width, alpha):
    """The cache-free definition: alive and finished pools, 2K candidates a step, lp(L) = ((5+L)/6)^alpha with L counting EOS,
    stop when no alive hypothesis can beat the worst finished one. Ties go to the lower flat index (hypothesis * V + token)."""
    lp = lambda n: ((5.0 + n) / 6.0) ** alpha
    alive, done, gap = [(0.0, [])], [], float("inf")        # gap: by how little a choice was made; no part of the search
    for step in range(cap):
        t = torch.tensor([[BOS] + h for _, h in alive])
        logp = model.decode(repeat(encoded, len(alive)), t)[:, -1].log_softmax(-1)
        flat, V, nxt = (logp + torch.tensor([a for a, _ in alive], dtype=torch.float64)[:, None]).flatten(), logp.shape[1], []
        more, top = flat.topk(2 * width + 1).values, flat.topk(2 * width)
        gap = min(gap, float(more[-2] - more[-1]))
        for v, i in zip(top.values.tolist(), top.indices.tolist()):
            h = alive[i // V][1] + [i % V]
            if i % V == EOS: done.append((v / lp(len(h)), h))
            else: nxt.append((v, h))
        if len(nxt) > width: gap = min(gap, nxt[width - 1][0] - nxt[width][0])
        alive, done = nxt[:width], sorted(done, key=lambda x: -x[0])[:width]
        if len(done) == width and done[-1][0] > alive[0][0] / lp(cap): break
    if not done: done = [(v / lp(len(h)), h) for v, h in alive]
    return done, min([gap] + [a[0] - b[0] for a, b in zip(done, done[1:])])


def greedy_search(model, encoded, cap):
    h, gap = [], float("inf")
    while len(h) < cap and h[-1:] != [EOS]:
        two = model.decode(encoded, torch.tensor([[BOS] + h]))[0, -1].topk(2)
        h, gap = h + [int(two.indices[0])], min(gap, float(two.values[0] - two.values[1]))
    return [(0.0, h)], gap


def stack(rows):
    """Tensors of different sizes as one, zeros where one is smaller."""
    out = rows[0].new_zeros([len(rows)] + [max(s) for s in zip(*(r.shape for r in rows))])
    for o, r in zip(out, rows): o[tuple(slice(n) for n in r.shape)] = r
    return out


@torch.no_grad()
def expected(model, source, target):
    rows, gaps = [], dict(greedy=float("inf"), beam4=float("inf"))
    near = model.attention.near if hasattr(model, "attention") else []
    near.clear()
    for s, t in zip(source, target):
        s, t, r = s[s != PAD][None], t[t != PAD][None], {}
        encoded, cap = model.encode(s), s.shape[1] + 50
        r["logits"] = model.decode(encoded, t, r)
        r = {k: v[0] for k, v in dict(r, encoder=encoded[0], source=s, target=t).items()}
        for name, width, (found, gap) in (("greedy", 1, greedy_search(model, encoded, cap)), ("beam4", 4, beam_search(model, encoded, cap, 4, 0.6))):
            r[name + ".tokens"] = stack([torch.tensor(h) for _, h in found])
            if width > 1: r[name + ".scores"] = torch.tensor([v for v, _ in found] + [NEG] * (width - len(found)), dtype=torch.float64)
            gaps[name] = min(gaps[name], gap)
        rows.append(r)
    t = {k: stack([r[k] for r in rows]) for k in rows[0]}
    for k in ("start.hidden", "start.cell"):
        if k in t: t[k] = t[k].transpose(0, 1)
    t["greedy.tokens"] = t["greedy.tokens"][:, 0]
    if near: gaps["position"] = min(near)
    kinds = {torch.long: torch.int32, torch.float64: torch.float32}
    return {k: v.to(kinds.get(v.dtype, v.dtype)).contiguous() for k, v in t.items()}, gaps


def translate(row, V, task):
    """The toy tasks. copy: another token for each, in order; reverse: in reverse; double: a multiple of 3 is followed by its double."""
    if task == "double": return sum(([t, 4 + 2 * t % (V - 5)] if t % 3 == 0 else [t] for t in row), [])
    return [4 + (3 * t + 1) % (V - 4) for t in (row if task == "copy" else reversed(row))]


def train(model, task, longest, seed, steps):
    g, V = torch.Generator().manual_seed(seed), model.c["vocab_size"]
    opt = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    for step in range(steps):
        L = int(torch.randint(1, longest + 1, (1,), generator=g))
        x = torch.randint(4, V, (64, L), generator=g)
        y = stack([torch.tensor([BOS] + translate(r, V, task) + [EOS]) for r in x.tolist()])
        for group in opt.param_groups: group["lr"] = 5e-3 * min(1, (step + 1) / 50) * (1 - 0.95 * step / steps)
        loss = F.cross_entropy(model.decode(model.encode(x), y[:, :-1]).flatten(0, 1), y[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.02)
        opt.zero_grad(); loss.backward(); nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
    return loss.item()


def configs(k):
    """Name, task, longest source of the training, configuration."""
    def model(cell, hidden, layers, bidirectional, decoder, bridge, attention, readout, **more):
        c = dict(model_type="recurrent", vocab_size=[29, 26][k], d_embed=[18, 21][k], encoder=dict(cell=cell, hidden=hidden, layers=layers, bidirectional=bidirectional),
                 decoder=dict(dict(cell=cell, layers=layers, feed="none"), **decoder), bridge=bridge, attention=attention, readout=readout, pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS)
        c["encoder"].update(more)
        return c
    first, after = dict(order="attend-first"), dict(order="state-first")
    linear, attentional = dict(kind="linear"), dict(kind="attentional")
    maxout = lambda state, width, rank: dict(kind="maxout", state=state, width=width, rank=rank)
    yield "gru-additive", "reverse", 13, model("gru", [20, 23][k], 1, True, dict(first, hidden=[26, 22][k]), "backward", dict(kind="additive", width=[19, 24][k]), maxout(["previous", "current"][k], 15, [11, 0][k]))
    yield "tanh-additive", "double", 9, model("tanh", [24, 21][k], 1, True, dict(first, hidden=[28, 25][k]), "linear", dict(kind="additive", width=22), linear if k == 0 else attentional)
    yield "lstm-none", "copy", 7, model("lstm", [44, 40][k], 2, False, dict(first, hidden=[44, 40][k]), "copy", dict(kind="none"), linear, reverse=True)
    yield "gru-last", "copy", 5, model(["gru", "gru-reset-after"][k], [40, 24][k], 1, k == 1, dict(first, hidden=[40, 46][k]), "linear", dict(kind="last"), maxout("current", 17, 0))
    yield "lstm-general", "reverse", 13, model("lstm", [28, 25][k], 2, False, dict(after, hidden=[28, 25][k], feed="attentional"), "copy", dict(kind="general"), attentional, reverse=k == 1)
    yield "lstm-dot-local-m", "copy", 15, model(["lstm", "gru"][k], [30, 13][k], 1, k == 1, dict(after, hidden=[30, 26][k], feed=["none", "attentional"][k]), "copy", dict(kind=["dot", "general"][k], window=dict(kind="monotonic", size=[2, 1][k])), attentional)
    yield "gru-concat-local-p", "double", 11, model(["gru-reset-after", "lstm"][k], [15, 29][k], 1, k == 0, dict(after, hidden=[30, 29][k], feed=["attentional", "none"][k]), "copy", dict([dict(kind="concat", width=20), dict(kind="dot")][k], window=dict(kind="predictive", size=[3, 4][k])), attentional)
    yield "location", "double", 11, model(["gru", "lstm"][k], [16, 17][k], [1, 1][k], True, dict(after, hidden=[30, 27][k], feed="context"), "zeros", dict(kind="location", width=18, filters=[5, 6][k], kernel=[7, 9][k], normaliser=["softmax", "smooth"][k], first=["one-hot", "zeros"][k], cumulative=k == 1), maxout("current", 16, 0) if k == 0 else attentional)
    yield "location-cumulative", "double", 11, model(["lstm", "gru-reset-after"][k], [15, 18][k], 1, True, dict(first if k else after, hidden=[26, 24][k], feed="context"), "linear", dict(kind="location", width=20, filters=4, kernel=[5, 11][k], normaliser=["smooth", "softmax"][k], first="zeros", cumulative=True), attentional)
    yield "gnmt-like", "reverse", 12, model("lstm", [16, 18][k], 3, "first", dict(after, hidden=[24, 22][k], layers=[3, 4][k], feed="context", residual_from=1), "linear", dict(dict(kind="additive", width=[21, 18][k]), **({"project_memory": False} if k else {})), attentional, residual_from=2)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        out, seed = sys.argv[2], int(sys.argv[3])
        for name, task, longest, c in configs(seed % 2):
            if len(sys.argv) > 4 and name not in sys.argv[4:]: continue
            torch.manual_seed(seed)
            model, V = Recurrent(c), c["vocab_size"]
            for n, p in model.named_parameters():
                if n.endswith("hidden.weight"): p.data = torch.cat([nn.init.orthogonal_(q.clone()) for q in p.data.split(p.shape[1])])
                elif "source" in n or "target" in n: nn.init.normal_(p, std=0.5)
                elif p.dim() > 1: nn.init.xavier_uniform_(p)
                else: nn.init.normal_(p, std=0.3 if n.endswith("v") else 0.05)
            loss = train(model, task, longest, seed, int(os.environ.get("STEPS", "800")))
            model.double()
            for attempt in range(20):                      # until no choice of a search is close
                g = torch.Generator().manual_seed(seed + 100 + attempt)
                lengths = [max(1, n * longest // 12) for n in ([9, 1, 12, 5, 7], [10, 4, 1, 12, 6])[seed % 2]]
                source = stack([torch.randint(4, V, (n,), generator=g) for n in lengths])
                right = [translate([t for t in r if t], V, task) + [EOS] for r in source.tolist()]
                target = stack([torch.tensor([BOS] + r[:-1] if b % 2 == 0 else [BOS] + torch.randint(4, V, (b + 2,), generator=g).tolist()) for b, r in enumerate(right)])
                e, gaps = expected(model, source, target)
                if min(gaps.values()) > 1e-3: break
            d = os.path.join(out, name); os.makedirs(d, exist_ok=True)
            json.dump(c, open(os.path.join(d, "config.json"), "w"), indent=2)
            save_file({k: v.float().contiguous() for k, v in model.state_dict().items()}, os.path.join(d, "model.safetensors"))
            save_file(e, os.path.join(d, "expected.safetensors"), metadata=dict(max_length="source + 50"))
            good = sum([t for t in r if t] == w for r, w in zip(e["greedy.tokens"].tolist(), right))
            print(name, "loss", round(loss, 3), "right", good, "of", len(right), "gaps", {k: round(v, 4) for k, v in gaps.items()}, "attempt", attempt, flush=True)
    else:
        d, worst = sys.argv[2], 0.0
        model = Recurrent(json.load(open(os.path.join(d, "config.json"))))
        model.load_state_dict(load_file(os.path.join(d, "model.safetensors")))
        want = load_file(os.path.join(d, "expected.safetensors"))
        got, _ = expected(model.double(), want["source"].long(), want["target"].long())
        for k in want:
            error = float((torch.nan_to_num(got[k].float(), neginf=0) - torch.nan_to_num(want[k].float(), neginf=0)).abs().max()) if got[k].shape == want[k].shape else NEG
            print(k, tuple(want[k].shape), error)
            worst = max(worst, abs(error))
        sys.exit(worst > 1e-5 or set(got) != set(want))
