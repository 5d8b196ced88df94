# SPDX-License-Identifier: Apache-2.0
"""Toy tasks, their training and the configurations of the multimodel oracles; `reference.py make` uses it.

language -> language: command 0 gives another token for each in order, command 1 the tokens as they are (other commands are not trained).
image -> language: each quarter of the image is empty or has one of four patterns; the text names quarter and pattern, in reading order.
Images of any size ("sizes") have 24 to 40 rows and columns.
image -> class: one quarter has a pattern; 0 empty, else 1 + pattern, and 4 more where it is in the lower half.
audio -> language: bursts of frames, each in one of the bins; the text names the bins.
language -> class: in which fifth of the vocabulary the largest token is.
audio -> class: the bin that is loud in the most frames, of those the lowest.
"""
import json, os
import torch
from torch import nn
from torch.nn import functional as F
from safetensors.torch import save_file

PAD, BOS, EOS = 0, 1, 2


def rows(lists):
    m = max(map(len, lists))
    return torch.tensor([r + [PAD] * (m - len(r)) for r in lists])


def image(codes, i, g, H, W):
    """[H,W,C] with a pattern in each of its quarters: 0 none, 1 full, 2 and 3 stripes, 4 a chequered one."""
    y, x = torch.arange(H)[:, None], torch.arange(W)[None]
    patterns = [torch.zeros(H, W), torch.ones(H, W), (y // 2 % 2).expand(H, W), (x // 2 % 2).expand(H, W), (x // 3 + y // 3) % 2]
    quarter = 2 * (y >= H // 2).long() + (x >= W // 2).long()
    p = sum((quarter == q) * patterns[k] for q, k in enumerate(codes))
    return (p[..., None] * (0.5 + 0.5 * torch.rand(i["channels"], generator=g)) + 0.1 * torch.randn(H, W, i["channels"], generator=g)).float()


def examples(c, g, B, size):
    """B examples of one size: input, command, and text or class."""
    i, o = c["input"], c["output"]
    draw = lambda low, high, *shape: torch.randint(low, high, shape, generator=g)
    command = draw(0, 2 if i["modality"] == "language" else 1, B)
    if i["modality"] == "language":
        V = i["vocab_size"]
        x = draw(4, V, B, size)
        if o["modality"] == "class": return x, command, (x.max(1).values - 4) * o["classes"] // (V - 4)
        return x, command, [[4 + (3 * t + 1) % (V - 4) for t in r] if k == 0 else r for r, k in zip(x.tolist(), command.tolist())]
    if i["modality"] == "image": H, W = (i["height"], i["width"]) if "width" in i else (int(draw(24, 41, 1)), int(draw(24, 41, 1)))
    if i["modality"] == "image" and o["modality"] == "class":
        codes = [[0] * 4 for _ in range(B)]
        for r, q, k in zip(codes, draw(0, 4, B).tolist(), draw(0, 5, B).tolist()): r[q] = k
        return torch.stack([image(r, i, g, H, W) for r in codes]), command, torch.tensor([max(r) and max(r) + 4 * (r.index(max(r)) // 2) for r in codes])
    if i["modality"] == "image":
        codes = (draw(0, 5, B, 4) * (draw(0, 3, B, 4) > 0)).tolist()
        return torch.stack([image(r, i, g, H, W) for r in codes]), command, [sum(([8 + q, 3 + k] for q, k in enumerate(r) if k), []) for r in codes]
    bins = draw(0, i["bins"], B, size)
    frames = draw(9, 14, size)
    loud = F.one_hot(bins.repeat_interleave(frames, 1), i["bins"])
    x = loud * 1.5 + 0.2 * torch.randn(B, int(frames.sum()), i["bins"], generator=g)
    if o["modality"] == "class": return x.float(), command, loud.sum(1).argmax(1)
    return x.float(), command, [[4 + t for t in r] for r in bins.tolist()]


def sizes(c): return {"language": 10, "image": 1, "audio": 4}[c["input"]["modality"]]


def train(model, moes, seed, steps):
    g, c = torch.Generator().manual_seed(seed), model.c
    opt = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    model.train()
    for step in range(steps):
        x, command, y = examples(c, g, 32, int(torch.randint(1, sizes(c) + 1, (1,), generator=g)))
        for group in opt.param_groups: group["lr"] = 3e-3 * min(1, (step + 1) / 50) * (1 - 0.95 * step / steps)
        memory, grid = model.encode(x)
        if c["output"]["modality"] == "class": loss = F.cross_entropy(model.classify(memory, grid), y, label_smoothing=0.02)
        else:
            t = rows([[BOS] + r + [EOS] for r in y])
            loss = F.cross_entropy(model.decode((memory, command), t[:, :-1]).flatten(0, 1), t[:, 1:].flatten(), ignore_index=PAD, label_smoothing=0.02)
        opt.zero_grad(); (loss + 0.01 * sum(m.balance for m in moes)).backward(); nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
    return loss.item()


def configs(k):
    d = [48, 36][k]
    base = dict(model_type="multimodel", d_model=d, commands=[3, 5][k], encoder=[["conv", "moe", "conv"], ["conv", "conv", "moe", "conv"]][k], decoder=[["conv", "moe", "conv"], ["conv", "moe"]][k], mixer=dict(separability=4, blocks=0),
                block=dict(form="tensor2tensor", kernels=[[3, 7, 7, 15], [3, 3, 7, 7]][k], dilations=[[1, 1, 1, 1], [1, 1, 2, 4]][k], separabilities=[-3, -2, -3, -2]),
                attention=dict(kind="simple", kernels=[5, 5], dilations=[1, 4], separabilities=[-3, -2]), moe=dict(experts=[6, 5][k], active=[2, 3][k], hidden=[48, 31][k]),
                timing=dict(kind="timescales", count=[16, 13][k]), pad_token_id=PAD, bos_token_id=BOS, eos_token_id=EOS)
    dense = dict(base, d_model=[40, 36][k], encoder=["conv"] * [2, 3][k], decoder=["conv"] * 2, mixer=dict(separability=4, blocks=[1, 2][k]), timing=dict(kind="interleaved"),
                 block=dict(form="paper", kernels=[[3, 3, 5, 5], [3, 3, 15, 15]][k], dilations=[[1, 1, 1, 4], [1, 1, 1, 8]][k], separabilities=[0, 0, 0, 0]),
                 attention=dict(kind="transformer", heads=[4, 3][k], kernels=[[5, 5], [3, 5]][k], dilations=[[1, 4], [1, 2]][k], separabilities=[0, 0]))
    del dense["moe"]
    text = dict(modality="language", vocab_size=[27, 23][k])
    picture = dict(modality="image", height=[33, 27][k], width=[29, 35][k], channels=[3, 1][k], stem=[[6, 10], [8, 11]][k], blocks=[[14, 20], [18]][k])
    only = lambda c: {key: v for key, v in c.items() if key not in ("commands", "decoder", "mixer", "attention")}
    yield "multimodel-text", dict(base, input=text, output=text)
    yield "multimodel-text-dense", dict(dense, input=text, output=text)
    yield "multimodel-image-text", dict([base, dense][k], input=picture, output=dict(modality="language", vocab_size=[13, 14][k]), max_target_length=[14, 17][k])
    sized = dict(modality="image", channels=[3, 1][k], stem=[[5, 8], [6, 7]][k], blocks=[[12], [10, 14]][k])
    yield "multimodel-image-sizes", dict(dict([base, dense][k], d_model=24, timing=dict(kind="interleaved")), input=sized, output=dict(modality="language", vocab_size=[13, 14][k]), max_target_length=[14, 17][k])
    yield "multimodel-image-class", dict(only([dense, base][k]), input=picture, output={"modality": "class", "classes": 9})
    yield "multimodel-text-class", dict(only([dict(base, d_model=36), dense][k]), input=text, output={"modality": "class", "classes": 5})
    yield "multimodel-audio-class", dict(only([dense, base][k]), input=dict(modality="audio", bins=[5, 4][k], blocks=[[6], [4, 9]][k]), output={"modality": "class", "classes": [5, 4][k]})
    yield "multimodel-audio-text", dict([dense, base][k], input=dict(modality="audio", bins=[5, 4][k], blocks=[[6], [4, 9]][k]), output=dict(modality="language", vocab_size=[10, 9][k]), max_target_length=[12, 11][k])


def make(MultiModel, Experts, expected, out, seed, names):
    for name, c in configs(seed % 2):
        if names and name not in names: continue
        torch.manual_seed(seed)
        model = MultiModel(c)
        moes = [m for m in model.modules() if isinstance(m, Experts)]
        for n, p in model.named_parameters():
            if "source" in n or "target" in n or "command" in n: nn.init.normal_(p, std=c["d_model"] ** -0.5)
            elif p.dim() > 1: nn.init.xavier_uniform_(p) if p.dim() == 2 else nn.init.normal_(p, std=p[0].numel() ** -0.5)
            elif "norm" not in n: nn.init.normal_(p, std=0.05)
        with torch.no_grad():
            if hasattr(model, "command"): model.command.weight *= c["d_model"] ** 0.5       # it is not multiplied where it is used
        loss = train(model, moes, seed, int(os.environ.get("STEPS", "550")))
        model.double().eval()
        kind = {"language": "source"}.get(c["input"]["modality"], c["input"]["modality"])
        for attempt in range(20):                          # until no choice of a search, and none of an expert, is close
            g = torch.Generator().manual_seed(seed + 100 + attempt)
            lengths = {"language": [7, 1, 10, 3, 9, 5], "image": [1] * (5 if "width" in c["input"] else 3), "audio": [3, 1, 4, 2]}[c["input"]["modality"]]
            drawn = [examples(c, g, 1, n) for n in lengths]
            given, right = {kind: [x[0] for x, _, _ in drawn]}, [y[0] for _, _, y in drawn]
            if c["output"]["modality"] != "class":
                V = c["output"]["vocab_size"]
                given["command"] = [k[0] for _, k, _ in drawn]
                given["target"] = [torch.tensor([BOS] + (y if b % 3 else torch.randint(4, V, (b + 3,), generator=g).tolist())) for b, y in enumerate(right)]
            e, gaps = expected(model, given)
            if gaps.get("routing", 1) > 2e-4 and min(v for n, v in gaps.items() if n != "routing") > 1e-3: break
        d = os.path.join(out, name); os.makedirs(d, exist_ok=True)
        json.dump(c, open(os.path.join(d, "config.json"), "w"), indent=2)
        save_file({n: v.float().contiguous() for n, v in model.state_dict().items()}, os.path.join(d, "model.safetensors"))
        save_file(e, os.path.join(d, "expected.safetensors"), metadata=dict(max_length=str(c.get("max_target_length", "source + 50"))) if "logits" in e else None)
        if "logits" in e: good = sum([t for t in r if t] == w + [EOS] for r, w in zip(e["greedy.tokens"].tolist(), right))
        else: good = sum(int(r.argmax()) == int(w) for r, w in zip(e["class.logits"], right))
        print(name, "loss", round(loss, 3), "right", good, "of", len(right), "gaps", {n: round(v, 5) for n, v in gaps.items()}, "attempt", attempt, flush=True)
