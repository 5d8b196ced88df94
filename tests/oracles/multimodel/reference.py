# SPDX-License-Identifier: Apache-2.0
"""Plain PyTorch reference of MultiModel: the oracle, written to be read beside the formulas (PAPERS.md, section 4).

    python reference.py make OUT_DIR SEED [NAME...]   train small models on a toy task, save them with expected outputs
    python reference.py check DIR                     recompute a folder's expected outputs from its files

Folder: config.json, model.safetensors (linear weights are [out, in], convolutions [out, in / groups, height, width]), expected.safetensors.
There is no padding inside: every example is computed alone, at its own size, and results are padded with zeros.
expected, in: source [B,S] int32 (0 = pad, right padded), or image [B,H,W,C] f32, beside it image.length and
image.width [B] int32 where the configuration has no width, or audio [B,F,bins] f32 with audio.length [B] int32;
where text is the output: command [B] int32, which task, and target [B,T] int32 (starts with BOS, in whose place the command's embedding stands).
expected, out: bottom [B,S,d], what the modality net gives, without timing; encoder [B,S,d]; encoder.units [B,units,S,d], what leaves each unit of
"encoder"; encoder.gates [B,moes,S,E], 0 for experts not chosen; class.logits [B,classes]; or, teacher forced: mixer [B,T,d],
mixer.attention [B,h,T,S] to the source (h is 1 for "simple"), decoder.units [B,units,T,d], decoder.attention [B,blocks,h,T,S], decoder.gates [B,moes,T,E],
logits [B,T,V] f32; greedy.tokens [B,L], beam4.tokens [B,4,L] and beam4.scores [B,4] (best first; 0 after the end; EOS kept).
The metadata "max_length" is the cap of a search, EOS counted: "source + 50", or a number, "max_target_length" of the configuration.
Computed in float64 from the stored float32 weights: a float32 implementation differs by up to 5e-6 in a logit.
"""
import json, os, sys
import torch
from torch import nn
from torch.nn import functional as F
from safetensors.torch import save_file, load_file

PAD, BOS, EOS = 0, 1, 2
NEG = float("-inf")


def margins(n, k, stride, dilation, padding):
    """What is added before and after an axis. same: the result has ceil(n / stride) places, what is odd goes after; left: all of it before."""
    if padding == "left": return (k - 1) * dilation, 0
    total = max((-(-n // stride) - 1) * stride + (k - 1) * dilation + 1 - n, 0)
    return total // 2, total - total // 2


def pad(x, kernel, stride, dilation, padding, value=0.0):
    p = [margins(n, k, s, r, padding) for n, k, s, r in zip(x.shape[1:3], kernel, stride, dilation)]
    return F.pad(x, (0, 0, *p[1], *p[0]), value=value)


def max_pool(x, kernel, stride, padding):
    """Nothing beyond the edges counts with same; zeros do with left."""
    x = pad(x, kernel, stride, (1, 1), padding, 0.0 if padding == "left" else NEG)
    return F.max_pool2d(x.permute(0, 3, 1, 2), kernel, stride).permute(0, 2, 3, 1)


class Part(nn.Module):
    """A convolution of [B,H,W,m] to n channels: depthwise and then pointwise, or an ordinary one. Weights are not flipped."""
    def __init__(self, m, n, kernel, separable):
        super().__init__()
        if separable: self.depthwise, self.pointwise = nn.Parameter(torch.zeros(m, 1, *kernel)), nn.Linear(m, n, bias=False)
        else: self.weight = nn.Parameter(torch.zeros(n, m, *kernel))

    def forward(self, x, stride, dilation):
        if hasattr(self, "weight"): return F.conv2d(x.permute(0, 3, 1, 2), self.weight, stride=stride, dilation=dilation).permute(0, 2, 3, 1)
        return self.pointwise(F.conv2d(x.permute(0, 3, 1, 2), self.depthwise, stride=stride, dilation=dilation, groups=x.shape[-1]).permute(0, 2, 3, 1))


class ConvStep(nn.Module):
    """LN(conv(ReLU(x))). separability 0: one separable convolution; -s: s groups of channels, each with its own; s: s groups, each with an
    ordinary convolution, and a linear map of all; "full": one ordinary convolution."""
    def __init__(self, m, n, kernel, dilation=1, separability=0, padding="same", stride=(1, 1), relu=True):
        super().__init__()
        self.kernel, self.dilation, self.padding, self.stride, self.relu = kernel, (dilation, dilation if kernel[1] > 1 else 1), padding, stride, relu
        full, s = separability == "full", 1 if separability in (0, "full") else abs(separability)
        self.parts = nn.ModuleList(Part(m // s, n // s, kernel, not full and separability <= 0) for _ in range(s))
        if not full and separability > 1: self.mix = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n, eps=1e-6)

    def forward(self, x):
        x = pad(x.relu() if self.relu else x, self.kernel, self.stride, self.dilation, self.padding)
        y = torch.cat([p(q, self.stride, self.dilation) for p, q in zip(self.parts, x.chunk(len(self.parts), -1))], -1)
        return self.norm(self.mix(y) if hasattr(self, "mix") else y)


class Block(nn.Module):
    """Four steps. paper: h2 = x + CS(CS(x)), x + CS(CS(h2)); tensor2tensor: y = CS(CS(x)), x + y + CS(CS(x + y))."""
    def __init__(self, c, padding):
        super().__init__()
        b, d = c["block"], c["d_model"]
        self.form, self.steps = b["form"], nn.ModuleList(ConvStep(d, d, (k, 1), r, s, padding) for k, r, s in zip(b["kernels"], b["dilations"], b["separabilities"]))

    def forward(self, x):
        s, y = self.steps, self.steps[1](self.steps[0](x))
        return x + s[3](s[2](x + y)) + (0 if self.form == "paper" else y)


class Experts(nn.Module):
    """LN(x + sum_e g_e W2_e relu(W1_e x)); g is the softmax over the `active` largest of W_g x, 0 for all others; of equals the lower index."""
    def __init__(self, c):
        super().__init__()
        m, d = c["moe"], c["d_model"]
        self.active, self.gate, self.near, self.balance = m["active"], nn.Linear(d, m["experts"], bias=False), [], 0
        self.experts = nn.ModuleList(nn.ModuleDict(dict(inner=nn.Linear(d, m["hidden"], bias=False), outer=nn.Linear(m["hidden"], d, bias=False))) for _ in range(m["experts"]))
        self.norm = nn.LayerNorm(d, eps=1e-6)

    def forward(self, x):
        logits = self.gate(x)
        if self.training: logits = logits + 0.3 * torch.randn_like(logits)
        top = logits.topk(self.active + 1)
        g = torch.zeros_like(logits).scatter(-1, top.indices[..., :-1], top.values[..., :-1].softmax(-1))
        if not self.training: self.near.append(float((top.values[..., -2] - top.values[..., -1]).min()))
        self.balance = g.flatten(0, -2).sum(0).var() / g.flatten(0, -2).sum(0).mean() ** 2
        return self.norm(x + sum(g[..., i : i + 1] * e["outer"](e["inner"](x).relu()) for i, e in enumerate(self.experts))), g


class Heads(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        for p in ("query", "key", "value", "output"): setattr(self, p, nn.Linear(d, d))

    def forward(self, q, kv, blocked):
        split = lambda x: x.unflatten(-1, (self.h, -1)).transpose(1, 2)
        q, k, v = split(self.query(q)), split(self.key(kv)), split(self.value(kv))
        a = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(blocked, NEG).softmax(-1)
        return self.output((a @ v).transpose(1, 2).flatten(2)), a


def timing(n, d, t):
    """interleaved: dim 2i sin, 2i+1 cos of p / 10000^(2i/d); timescales: [sin | cos] of p * 10000^(-i/(count-1)), i < count, then zeros."""
    p, inter = torch.arange(n, dtype=torch.float64)[:, None], t["kind"] == "interleaved"
    count = d // 2 if inter else t["count"]
    i = torch.arange(count, dtype=torch.float64)
    angle = p * 10000.0 ** (-2 * i / d if inter else -i / (count - 1))
    pair = (angle.sin(), angle.cos())
    return torch.stack(pair, 2).flatten(1) if inter else F.pad(torch.cat(pair, 1), (0, d - 2 * count))


class Attention(nn.Module):
    """Target x and source s. q = CS(CS(x + timing)), both to the left. simple: LN(x + softmax(q s^T / sqrt(d)) s), one head, no projections;
    transformer: causal self-attention of q, then attention to the source, no residual and no norm."""
    def __init__(self, c):
        super().__init__()
        a, d = c["attention"], c["d_model"]
        self.c, self.simple = c, a["kind"] == "simple"
        self.steps = nn.ModuleList(ConvStep(d, d, (k, 1), r, s, "left") for k, r, s in zip(a["kernels"], a["dilations"], a["separabilities"]))
        if self.simple: self.norm = nn.LayerNorm(d, eps=1e-6)
        else: self.self_attention, self.cross_attention = Heads(d, a["heads"]), Heads(d, a["heads"])

    def forward(self, x, s):                                                                 # [B,T,1,d], [B,S,1,d]
        q = x + timing(x.shape[1], x.shape[-1], self.c["timing"]).to(x.dtype)[:, None]
        for step in self.steps: q = step(q)
        q, s, t = q[:, :, 0], s[:, :, 0], x.shape[1]
        if not self.simple:
            q, _ = self.self_attention(q, q, torch.ones(t, t, dtype=torch.bool).triu(1))
            y, a = self.cross_attention(q, s, torch.zeros(1, dtype=torch.bool))
            return y[:, :, None], a
        a = (q @ s.transpose(-1, -2) / q.shape[-1] ** 0.5).softmax(-1)
        return self.norm(x + (a @ s)[:, :, None]), a[:, None]


class Unit(nn.Module):
    """conv: a block, in the decoder x + attention(x, source) after it; moe: experts."""
    def __init__(self, c, kind, decoder):
        super().__init__()
        if kind == "moe": self.moe = Experts(c)
        else: self.block = Block(c, "left" if decoder else "same")
        if kind == "conv" and decoder: self.attention = Attention(c)

    def forward(self, x, memory):
        if hasattr(self, "moe"): return (*self.moe(x), None)
        x, a = self.block(x), None
        if hasattr(self, "attention"): y, a = self.attention(x, memory); x = x + y
        return x, None, a


class Residual(nn.Module):
    """Xception's: two separable 3x3 steps and a 3x3 maximum with strides, beside a 1x1 step with the same strides."""
    def __init__(self, m, n, stride, relu):
        super().__init__()
        self.stride, self.steps = stride, nn.ModuleList([ConvStep(m, n, (3, 3)), ConvStep(n, n, (3, 3))])
        self.skip = ConvStep(m, n, (1, 1), separability="full", stride=stride, relu=relu)

    def forward(self, x): return max_pool(self.steps[1](self.steps[0](x)), (3, 3), self.stride, "same") + self.skip(x)


class ImageIn(nn.Module):
    """(x - mean) / max(deviation, 1 / sqrt(numbers)) of each image; 3x3 stride 2 without ReLU; 3x3; residual blocks of stride 2."""
    def __init__(self, i, d):
        super().__init__()
        a, b = i["stem"]
        self.stem = nn.ModuleList([ConvStep(i["channels"], a, (3, 3), separability="full", stride=(2, 2), relu=False), ConvStep(a, b, (3, 3), separability="full")])
        widths = [b, *i["blocks"], d]
        self.blocks = nn.ModuleList(Residual(m, n, (2, 2), k == 0) for k, (m, n) in enumerate(zip(widths, widths[1:])))

    def forward(self, x):
        x = x - x.mean((1, 2, 3), keepdim=True)
        x = x / (x ** 2).mean((1, 2, 3), keepdim=True).sqrt().clamp(min=x[0].numel() ** -0.5)
        for layer in [*self.stem, *self.blocks]: x = layer(x)
        return x


class AudioIn(nn.Module):
    """A spectrum [B,frames,bins]: residual blocks with strides in time alone; only the last has no ReLU in its skip."""
    def __init__(self, i, d):
        super().__init__()
        widths = [1, *i["blocks"], d]
        self.blocks = nn.ModuleList(Residual(m, n, (2, 1), k < len(i["blocks"])) for k, (m, n) in enumerate(zip(widths, widths[1:])))

    def forward(self, x):
        x = x[..., None]
        for b in self.blocks: x = b(x)
        return x


class ClassOut(nn.Module):
    """Xception's exit, then ReLU, the mean of all places, and a linear map. Of images 3x3, stride 2, same; of text 5x1, stride 4x1, left."""
    def __init__(self, c):
        super().__init__()
        d, image = c["d_model"], c["input"]["modality"] == "image"
        self.kernel, self.stride, self.padding = ((3, 3), (2, 2), "same") if image else ((5, 1), (4, 1), "left")
        step = lambda m, n, **more: ConvStep(m, n, self.kernel, padding=self.padding, **more)
        self.skip = step(d, 5 * d // 4, separability="full", stride=self.stride)
        self.steps = nn.ModuleList([step(d, d), step(d, 5 * d // 4), step(5 * d // 4, 2 * d, relu=False), step(2 * d, 5 * d // 2)])
        self.output = nn.Linear(5 * d // 2, c["output"]["classes"])

    def forward(self, x):
        y = max_pool(self.steps[1](self.steps[0](x)), self.kernel, self.stride, self.padding) + self.skip(x)
        return self.output(self.steps[3](self.steps[2](y)).relu().mean((1, 2)))


class MultiModel(nn.Module):
    def __init__(self, c):
        super().__init__()
        d, i, o = c["d_model"], c["input"], c["output"]
        self.c = c
        if i["modality"] == "language": self.source = nn.Embedding(i["vocab_size"], d)
        else: self.bottom = (ImageIn if i["modality"] == "image" else AudioIn)(i, d)
        self.encoder = nn.ModuleList(Unit(c, u, False) for u in c["encoder"])
        if o["modality"] == "class": self.top = ClassOut(c); return                          # a class needs no decoder
        self.target, self.command = nn.Embedding(o["vocab_size"], d), nn.Embedding(c["commands"], d)
        self.attention = Attention(c)                                                        # the mixer: attention, both side by side, a step, and blocks
        self.merge = ConvStep(2 * d, d, (3, 1), 1, c["mixer"]["separability"], "left")
        self.mixer = nn.ModuleList(Block(c, "left") for _ in range(c["mixer"]["blocks"]))
        self.decoder = nn.ModuleList(Unit(c, u, True) for u in c["decoder"])
        self.output = nn.Linear(d, o["vocab_size"], bias=False)

    def encode(self, x, keep=None):
        """[B,S] ids, [B,H,W,C] or [B,F,bins] -> [B,S,1,d] and the height and width that S was."""
        d = self.c["d_model"]
        x = self.source(x)[:, :, None] * d ** 0.5 if hasattr(self, "source") else self.bottom(x)
        grid = x.shape[1:3]
        x = x.flatten(1, 2)[:, :, None]
        if keep is not None: keep["bottom"] = x[:, :, 0]
        x = x + timing(x.shape[1], d, self.c["timing"]).to(x.dtype)[:, None]
        return self.units(self.encoder, "encoder", x, None, keep), grid

    def units(self, units, name, x, memory, keep):
        kept = dict(units=[], gates=[], attention=[])
        for u in units:
            x, g, a = u(x, memory)
            for k, v in (("units", x[:, :, 0]), ("gates", g), ("attention", a)):
                if v is not None: kept[k].append(v[:, :, 0] if k == "gates" else v)
        if keep is not None: keep.update({f"{name}.{k}": torch.stack(v, 1) for k, v in kept.items() if v})
        return x

    def classify(self, memory, grid): return self.top(memory[:, :, 0].unflatten(1, tuple(grid)))

    def decode(self, encoded, target, keep=None):
        memory, command = encoded
        shifted = torch.cat([self.command(command)[:, None], self.target(target[:, 1:]) * self.c["d_model"] ** 0.5], 1)[:, :, None]
        y, a = self.attention(shifted, memory)
        x = self.merge(torch.cat([y, shifted], -1))
        for b in self.mixer: x = b(x)
        if keep is not None: keep.update({"mixer": x[:, :, 0], "mixer.attention": a})
        return self.output(self.units(self.decoder, "decoder", x, memory, keep)[:, :, 0])


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
def expected(model, given):
    """given: what is in, one tensor an example: source, image or audio, and command and target."""
    c, rows, gaps, near = model.eval().c, [], {}, [m.near for m in model.modules() if isinstance(m, Experts)]
    for n in near: n.clear()
    kind = {"language": "source"}.get(c["input"]["modality"], c["input"]["modality"])
    note = lambda name, gap: gaps.update({name: min(gap, gaps.get(name, gap))})
    for b, x in enumerate(given[kind]):
        keep = {}
        memory, grid = model.encode(x[None] if kind == "source" else x[None].double(), keep)
        keep["encoder"] = memory[:, :, 0]
        if hasattr(model, "top"):
            keep["class.logits"] = model.classify(memory, grid)
            two = keep["class.logits"][0].topk(2).values
            note("class", float(two[0] - two[1]))
        else:
            encoded, t = (memory, given["command"][b][None]), given["target"][b]
            keep["logits"] = model.decode(encoded, t[None], keep)
        r = {k: v[0] for k, v in keep.items()}
        r[kind] = x
        if kind == "audio" or c["input"]["modality"] == "image" and "width" not in c["input"]: r[kind + ".length"] = torch.tensor(len(x))
        if kind == "image" and "width" not in c["input"]: r["image.width"] = torch.tensor(x.shape[1])
        if not hasattr(model, "top"):
            r.update(command=given["command"][b], target=t)
            cap = c.get("max_target_length", len(x) + 50)
            for name, width, (found, gap) in (("greedy", 1, greedy_search(model, encoded, cap)), ("beam4", 4, beam_search(model, encoded, cap, 4, 0.6))):
                r[name + ".tokens"] = stack([torch.tensor(h) for _, h in found])[0 if width == 1 else slice(None)]
                if width > 1: r[name + ".scores"] = torch.tensor([v for v, _ in found] + [NEG] * (width - len(found)), dtype=torch.float64)
                note(name, gap)
        rows.append(r)
    if near: gaps["routing"] = min(min(n) for n in near)
    kinds = {torch.long: torch.int32, torch.float64: torch.float32}
    t = {k: stack([r[k] for r in rows]) for k in rows[0]}
    return {k: v.to(kinds.get(v.dtype, v.dtype)).contiguous() for k, v in t.items()}, gaps


if __name__ == "__main__":
    if sys.argv[1] == "make":
        from toys import make
        make(MultiModel, Experts, expected, sys.argv[2], int(sys.argv[3]), sys.argv[4:])
    else:
        d, worst = sys.argv[2], 0.0
        model = MultiModel(json.load(open(os.path.join(d, "config.json")))).double()
        model.load_state_dict(load_file(os.path.join(d, "model.safetensors")))
        want = load_file(os.path.join(d, "expected.safetensors"))
        given = {k: list(want[k].long() if want[k].dtype == torch.int32 else want[k]) for k in ("source", "image", "audio", "command", "target") if k in want}
        for k in ("source", "target"):
            if k in given: given[k] = [x[x != PAD] for x in given[k]]
        if "image.width" in want: given["image"] = [x[:n, :w] for x, n, w in zip(given["image"], want["image.length"].tolist(), want["image.width"].tolist())]
        if "audio" in given: given["audio"] = [x[:n] for x, n in zip(given["audio"], want["audio.length"].tolist())]
        got, _ = expected(model, given)
        for k in want:
            error = float((torch.nan_to_num(got[k].float(), neginf=0) - torch.nan_to_num(want[k].float(), neginf=0)).abs().max()) if got[k].shape == want[k].shape else NEG
            print(k, tuple(want[k].shape), error)
            worst = max(worst, abs(error))
        sys.exit(worst > 1e-5 or set(got) != set(want))
