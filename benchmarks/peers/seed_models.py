# SPDX-License-Identifier: Apache-2.0
"""The models of seeds.py: sizes, random weights and inputs, and PyTorch modules for the engines.

The definitions are written to be read. These modules compute the same as one would write it for
speed: nn.LSTM, packed sequences, grouped convolutions, one index_select an expert. What PyTorch
exports of them is what the other engines get. No engine searches, so a loop in Python calls the
step of rnnsearch; beams are rows that share their sentence's memory, and the step chooses and
reorders. The bias of the end token is -100, so that nothing ends early.
"""

import importlib.util
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[2]
BOS, EOS = 1, 2
LENGTH = 24
WINDOW = 256
RAGGED = [int(line) for line in (ROOT / "benchmarks" / "ragged.txt").read_text().split()]


def reference(name):
    """A module with the definition of a family; the three have the same name."""
    path = ROOT / "tests" / "oracles" / name / "reference.py"
    specification = importlib.util.spec_from_file_location(f"{name}_reference", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


recurrent, multimodel, local = map(reference, ("recurrent", "multimodel", "local"))

# --- sizes ------------------------------------------------------------------------------------

SPECIAL = {"pad_token_id": 0, "bos_token_id": BOS, "eos_token_id": EOS}


def recurrent_encoder(cell, layers=2, embedding=512):
    return {"model_type": "recurrent", "vocab_size": 32000, "target_vocab_size": 1000,
            "d_embed": embedding,
            "encoder": {"cell": cell, "hidden": 512, "layers": layers, "bidirectional": True},
            "bridge": "linear", "readout": {"kind": "attentional"},
            "decoder": {"cell": cell, "hidden": 512, "layers": 1, "order": "state-first",
                        "feed": "none"},
            "attention": {"kind": "additive", "width": 512}, **SPECIAL}


RNNSEARCH = {
    "model_type": "recurrent", "vocab_size": 30000, "d_embed": 620,
    "encoder": {"cell": "gru-reset-after", "hidden": 1000, "layers": 1, "bidirectional": True},
    "bridge": "backward",
    "decoder": {"cell": "gru-reset-after", "hidden": 1000, "layers": 1, "order": "attend-first",
                "feed": "none"},
    "attention": {"kind": "additive", "width": 1000},
    "readout": {"kind": "maxout", "state": "previous", "width": 500, "rank": 0}, **SPECIAL}
MULTIMODEL = {
    "model_type": "multimodel", "output": {"modality": "language", "vocab_size": 8000},
    "commands": 2, "decoder": ["conv"], "mixer": {"separability": 4, "blocks": 0},
    "timing": {"kind": "timescales", "count": 16},
    "block": {"form": "tensor2tensor", "kernels": [3, 7, 15, 31], "dilations": [1, 1, 1, 1],
              "separabilities": [-2, -2, -2, -2]},
    "attention": {"kind": "simple", "kernels": [5, 5], "dilations": [1, 4],
                  "separabilities": [-2, -2]}, **SPECIAL}
TEXTS = {**MULTIMODEL, "d_model": 512, "input": {"modality": "language", "vocab_size": 8000},
         "encoder": ["conv"] * 3 + ["moe"] + ["conv"] * 3,
         "moe": {"experts": 16, "active": 2, "hidden": 512}}
IMAGES = {**MULTIMODEL, "d_model": 256, "encoder": ["conv"], "max_target_length": LENGTH,
          "input": {"modality": "image", "height": 64, "width": 64, "channels": 3,
                    "stem": [32, 64], "blocks": [128, 256]}}
LAYER = {"model_type": "transformer", "vocab_size": 32000, "d_model": 512, "encoder_layers": 1,
         "decoder_layers": 1, "heads": 8, "d_ff": 2048, "norm": "post", "layer_norm_eps": 1e-6,
         "positions": "sinusoidal", "max_positions": 8192, "tie_embeddings": True,
         "activation": "relu", **SPECIAL}
# The definition's class, the configuration, and cases that `check` computes; a model without any is
# for Heddle alone.
MODELS = {
    "bilstm": (recurrent.Recurrent, recurrent_encoder("lstm"), ["2x9", "ragged"]),
    "bigru": (recurrent.Recurrent, recurrent_encoder("gru-reset-after"), ["2x9", "ragged"]),
    "rnnsearch": (recurrent.Recurrent, RNNSEARCH, ["2x1", "2x4"]),
    "multimodel": (multimodel.MultiModel, TEXTS, ["2x40"]),
    "multimodel-image": (multimodel.MultiModel, IMAGES, ["2"]),
    "window": (local.Transformer,
               {**LAYER, "encoder_self_attention": {"kind": "window", "size": WINDOW}}, ["1x640"]),
    "window-full": (local.Transformer, LAYER, ["1x640"]),
    "recurrence": (recurrent.Recurrent, recurrent_encoder("lstm", 1, 16), []),
}


def randomise(model):
    """Sizes at which nothing saturates, and logits are of the size that trained models have."""
    is_recurrent = isinstance(model, recurrent.Recurrent)
    for name, values in model.named_parameters():
        if "norm" in name:
            continue
        if name.split(".")[0] in ("source", "target", "command", "shared"):
            deviation = 0.5 if is_recurrent else values.shape[1] ** -0.5
        elif values.dim() > 1:
            deviation = values[0].numel() ** -0.5
        else:
            deviation = 0.3 if name.endswith("attention.v") else 0.05
        nn.init.normal_(values, std=deviation)
    if is_recurrent:
        model.output.bias.data[EOS] = -100


def inputs(name, case):
    """Arrays: ids, or images, and lengths where they differ."""
    random, config = np.random.default_rng(0), MODELS[name][1]
    if name == "multimodel-image":
        return (random.random((int(case), 64, 64, 3), dtype=np.float32),)
    vocabulary = config.get("vocab_size") or config["input"]["vocab_size"]
    if case == "ragged":
        ids = random.integers(4, vocabulary, (len(RAGGED), max(RAGGED)))
        ids *= np.arange(max(RAGGED)) < np.array(RAGGED)[:, None]
        return ids.astype(np.int64), np.array(RAGGED, np.int64)
    batch, length = map(int, case.split("x"))
    length = LENGTH if name == "rnnsearch" else length
    return (random.integers(4, vocabulary, (batch, length)).astype(np.int64),)


# --- the models as one writes them for other engines -----------------------------------------


class Recurrent(nn.Module):
    """Ids [B,S] to the states of the last layer [B,S,2n]; with lengths, as a packed sequence."""

    def __init__(self, model):
        super().__init__()
        encoder = model.c["encoder"]
        kind = nn.LSTM if encoder["cell"] == "lstm" else nn.GRU
        self.embed = model.source
        self.rnn = kind(model.c["d_embed"], encoder["hidden"], encoder["layers"], batch_first=True,
                        bidirectional=True)
        for layer, directions in enumerate(model.encoder.layers):
            self.copy(directions["forwards"], f"l{layer}")
            self.copy(directions["backwards"], f"l{layer}_reverse")

    def copy(self, cell, end):
        for name, linear in (("ih", cell.input), ("hh", cell.hidden)):
            getattr(self.rnn, f"weight_{name}_{end}").data.copy_(linear.weight.data)
            bias = 0 if linear.bias is None else linear.bias.data
            getattr(self.rnn, f"bias_{name}_{end}").data.copy_(bias)

    def forward(self, ids, lengths=None):
        x = self.embed(ids)
        if lengths is None:
            return self.rnn(x)[0]
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]


class Begin(nn.Module):
    """What a sentence needs once: the memory, its keys, and the decoder's first state."""

    def __init__(self, model):
        super().__init__()
        self.encoder, self.keys = Recurrent(model), model.attention.memory
        self.bridge = model.bridge[0]
        self.width = model.c["encoder"]["hidden"]

    def forward(self, ids):
        memory = self.encoder(ids)
        return memory, self.keys(memory), self.bridge(memory[:, 0, self.width:]).tanh()


class Step(nn.Module):
    """One token of K hypotheses a sentence. Tokens and scores [B,K] and states [B,K,n] before it to
    those after it, and the hypothesis that each of the K best continues."""

    def __init__(self, model):
        super().__init__()
        self.target, self.attention, self.cell = model.target, model.attention, model.layers[0]
        self.readout, self.output = model.readout, model.output

    def advance(self, x, state):
        r, u, g = self.cell.input(x).chunk(3, -1)
        hr, hu, hg = self.cell.hidden(state).chunk(3, -1)
        u = (u + hu).sigmoid()
        return (1 - u) * (g + (r + hr).sigmoid() * hg).tanh() + u * state

    def forward(self, token, score, state, memory, keys):
        y, beams = self.target(token), token.shape[1]
        scores = (self.attention.query(state)[:, :, None] + keys[:, None]).tanh() @ self.attention.v
        context = scores.softmax(-1) @ memory
        new = self.advance(torch.cat([y, context], -1), state)
        z = (self.readout["state"](state) + self.readout["embedding"](y)
             + self.readout["context"](context))
        logits = self.output(z.unflatten(-1, (z.shape[-1] // 2, 2)).amax(-1))
        if beams == 1:
            return logits.argmax(-1), score, new, torch.zeros_like(token)
        score, index = (logits.log_softmax(-1) + score[..., None]).flatten(1).topk(beams)
        row = torch.div(index, logits.shape[-1], rounding_mode="floor")
        new = new.gather(1, row[..., None].expand(-1, -1, new.shape[-1]))
        return index - row * logits.shape[-1], score, new, row


def search(begin, step, ids, beams):
    """Tokens [B,K,LENGTH], best first. Both functions take and give arrays, or both tensors."""
    memory, keys, state = begin(ids)
    arrays = isinstance(memory, np.ndarray)
    library, join = (np, np.concatenate) if arrays else (torch, torch.cat)
    token = library.full((len(ids), beams), BOS, dtype=library.int64)
    score = library.full((len(ids), beams), -1e30, dtype=library.float32)
    score[:, 0] = 0
    state = (np.repeat(state[:, None], beams, 1) if arrays else
             state[:, None].repeat(1, beams, 1))
    found = library.zeros((len(ids), beams, 0), dtype=library.int64)
    sentence = library.arange(len(ids))[:, None]
    for _ in range(LENGTH):
        token, score, state, row = step(token, score, state, memory, keys)
        found = join([found[sentence, row] if beams > 1 else found, token[..., None]], -1)
    return found


class Convolution(nn.Module):
    """Norm of a convolution of ReLU(x) over [B,H,W,C]. Groups of channels are grouped convolutions;
    the permutation is what PyTorch calls channels_last."""

    def __init__(self, step):
        super().__init__()
        self.relu, self.kernel, self.stride, self.dilation = (step.relu, step.kernel, step.stride,
                                                              step.dilation)
        self.norm, self.groups = step.norm, len(step.parts)
        self.is_separable = hasattr(step.parts[0], "depthwise")
        if self.is_separable:
            self.depthwise = nn.Parameter(torch.cat([part.depthwise for part in step.parts]))
            self.pointwise = nn.Parameter(
                torch.cat([part.pointwise.weight for part in step.parts])[:, :, None, None])
        else:
            self.weight = step.parts[0].weight

    def forward(self, x):
        if self.relu:
            x = x.relu()
        padding = [(size - 1) * apart // 2 for size, apart in zip(self.kernel, self.dilation)]
        if max(self.stride) > 1 and max(self.kernel) > 1:
            x = multimodel.pad(x, self.kernel, self.stride, self.dilation, "same")
            padding = 0
        x = x.permute(0, 3, 1, 2)
        where = {"stride": self.stride, "padding": padding, "dilation": self.dilation}
        if not self.is_separable:
            x = functional.conv2d(x, self.weight, **where).permute(0, 2, 3, 1)
            return self.norm(x)
        x = functional.conv2d(x, self.depthwise, groups=x.shape[1], **where)
        if self.groups > 1:
            x = functional.conv2d(x, self.pointwise, groups=self.groups)
            return self.norm(x.permute(0, 2, 3, 1))
        return self.norm(functional.linear(x.permute(0, 2, 3, 1), self.pointwise[:, :, 0, 0]))


class Experts(nn.Module):
    """Each expert gathers its own rows."""

    def __init__(self, experts):
        super().__init__()
        self.gate, self.active, self.experts = experts.gate, experts.active, experts.experts
        self.norm = experts.norm

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        top = self.gate(flat).topk(self.active)
        factors, total = top.values.softmax(-1), torch.zeros_like(flat)
        for index, expert in enumerate(self.experts):
            row, place = (top.indices == index).nonzero(as_tuple=True)
            y = expert["outer"](expert["inner"](flat.index_select(0, row)).relu())
            total = total.index_add(0, row, factors[row, place][:, None] * y)
        return self.norm(x + total.reshape(x.shape))


class Body(nn.Module):
    """Ids or images to the encoder's output [B,S,d] of a MultiModel."""

    def __init__(self, model):
        super().__init__()
        self.is_image = hasattr(model, "bottom")
        self.config, width = model.c, model.c["d_model"]
        for module in list(model.modules()):
            if isinstance(module, (multimodel.Block, multimodel.Residual)):
                module.steps = nn.ModuleList(map(Convolution, module.steps))
            if isinstance(module, multimodel.ImageIn):
                module.stem = nn.ModuleList(map(Convolution, module.stem))
            if isinstance(module, multimodel.Residual):
                module.skip = Convolution(module.skip)
        self.bottom = model.bottom if self.is_image else model.source
        self.units = nn.ModuleList(Experts(unit.moe) if hasattr(unit, "moe") else unit.block
                                   for unit in model.encoder)
        self.register_buffer("timing", multimodel.timing(512, width, model.c["timing"]).float())

    def residual(self, block, x):
        """The sizes are even, so PyTorch's margins are those of the definition."""
        y = block.steps[1](block.steps[0](x)).permute(0, 3, 1, 2)
        y = functional.max_pool2d(y, 3, 2, ceil_mode=True)
        return y.permute(0, 2, 3, 1) + block.skip(x)

    def image(self, x):
        x = x - x.mean((1, 2, 3), keepdim=True)
        deviation = (x ** 2).mean((1, 2, 3), keepdim=True).sqrt()
        x = x / deviation.clamp(min=(64 * 64 * 3) ** -0.5)
        for step in self.bottom.stem:
            x = step(x)
        for block in self.bottom.blocks:
            x = self.residual(block, x)
        return x.flatten(1, 2)[:, :, None]

    def forward(self, x):
        if self.is_image:
            x = self.image(x)
        else:
            x = self.bottom(x)[:, :, None] * self.config["d_model"] ** 0.5
        x = x + self.timing[: x.shape[1], None]
        for unit in self.units:
            x = unit(x)
        return x[:, :, 0]


class Layer(nn.Module):
    """An encoder of one Transformer layer; form: full, mask, chunks or flex."""

    def __init__(self, model, form):
        super().__init__()
        self.form, self.embed, self.layer, self.masks = (form, model.shared,
                                                         model.encoder.layers[0], {})
        attention = self.layer.self_attention
        parts = [attention.query, attention.key, attention.value]
        self.qkv = nn.Linear(512, 1536)
        self.qkv.weight.data = torch.cat([part.weight.data for part in parts])
        self.qkv.bias.data = torch.cat([part.bias.data for part in parts])
        self.register_buffer("positions", local.sinusoid(8192, 512, False).float())

    def mask(self, length):
        """Made once for each length, outside of what is timed."""
        if length not in self.masks and self.form == "mask":
            form = {"kind": "window", "size": WINDOW}
            self.masks[length] = local.visible(form, length, False)
        if length not in self.masks and self.form == "flex":
            from torch.nn.attention.flex_attention import create_block_mask
            self.masks[length] = create_block_mask(
                lambda b, h, i, j: (i - WINDOW // 2 <= j) & (j < i + WINDOW // 2), None, None,
                length, length, device="cpu")
        return self.masks.get(length)

    def chunks(self, q, k, v):
        """[B,h,n,64], n a multiple of 128: each block of queries with the blocks around it."""
        half, length = WINDOW // 2, q.shape[2]

        def split(x):
            return x.reshape(-1, x.shape[2] // half, half, 64)

        def near(x):
            x = split(functional.pad(x, (0, 0, half, half)))
            return torch.cat([x[:, :-2], x[:, 1:-1], x[:, 2:]], 2)

        place, key = torch.arange(half)[:, None], torch.arange(3 * half)[None]
        position = torch.arange(length // half)[:, None, None] * half + key - half
        seen = (place <= key) & (key < place + WINDOW) & (position >= 0) & (position < length)
        found = functional.scaled_dot_product_attention(split(q), near(k), near(v), attn_mask=seen)
        return found.reshape(q.shape)

    def attend(self, q, k, v):
        if self.form == "chunks":
            return self.chunks(q, k, v)
        if self.form == "flex":
            from torch.nn.attention.flex_attention import flex_attention
            return flex_attention(q, k, v, block_mask=self.mask(q.shape[2]))
        mask = self.mask(q.shape[2]) if self.form == "mask" else None
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.embed(ids) * 512 ** 0.5 + self.positions[:length]
        q, k, v = self.qkv(x).reshape(batch, length, 3, 8, 64).permute(2, 0, 3, 1, 4)
        y = self.attend(q, k, v).transpose(1, 2).reshape(batch, length, 512)
        x = self.layer.self_attention_norm(x + self.layer.self_attention.output(y))
        return self.layer.ffn_norm(x + self.layer.ffn(x))
