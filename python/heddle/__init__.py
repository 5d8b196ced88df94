# SPDX-License-Identifier: Apache-2.0
"""Heddle runs Transformer models that were compiled to one binary.

A model's folder from Hugging Face is compiled once; the binary has its weights and its tokenizer:

    import heddle
    heddle.compile("all-MiniLM-L6-v2", "minilm.so")            # needs heddlec; precision="int8" is faster
    model = heddle.load("minilm.so", threads=2)
    vectors = model.encode(["A cat sat on the mat.", "Stocks fell."])   # float32 [2, 384]

An encoder-decoder answers sources, a decoder-only model continues prompts or answers conversations:

    best = model.generate("Where is the cat?", beam=4)[0]      # a Hypothesis: text, tokens, score ...
    for piece in model.stream("Once upon a time"):             # text as soon as it is certain
        print(piece.text, end="")
    answer = model.chat([{"role": "user", "content": "Who are you?"}])[0].text

Every call that takes a list of texts takes a single one as well, and answers with a single result then.
``model.info`` says what a model can do. A call that it has no part for raises a ``heddle.Error`` with the
reason.

The same sentence gives the same bits, whatever else is in a batch and however many threads run.
Loading a binary means running its code: trust a compiled model as you would any shared library.
"""

from ._builder import ModelBuilder
from ._compile import compile, explain
from ._core import machine_targets as _machine_targets
from ._core import version as __version__
from ._entry import EntryBuilder
from ._errors import (CompileError, CompileWarning, DataLoss, Error, InputOutput, Internal,
                      InvalidArgument, NotFound, OutOfRange, ResourceExhausted, Unsupported, WrongType)
from ._model import Model, info, load, shared
from ._reports import Alignment, Analysis, AttentionKind, Profile, ProfiledWork, Report
from ._results import (CacheUse, Classification, Entry, Hypothesis, Info, Languages, Piece, Port,
                       Ranked, Score, TokenLabel, TokenScore)
from ._values import Parameter, Tensor


def machine_targets() -> list:
    """The targets that this processor can run, best first, for example ["x86-64-v4", "x86-64-v3"].

    The last are levels that it has as well and heddlec makes no code for, such as "x86-64-v2"."""
    return _machine_targets()


__all__ = ["Alignment", "Analysis", "AttentionKind", "CacheUse", "Classification", "CompileError",
           "CompileWarning", "DataLoss", "Entry", "EntryBuilder", "Error", "Hypothesis", "Info", "InputOutput",
           "Internal", "InvalidArgument", "Languages", "Model", "ModelBuilder", "NotFound",
           "OutOfRange", "Parameter", "Piece", "Port", "Profile", "ProfiledWork", "Ranked",
           "Report", "ResourceExhausted", "Score", "Tensor", "TokenLabel", "TokenScore",
           "Unsupported", "WrongType", "compile", "explain", "info", "load", "machine_targets",
           "shared"]
