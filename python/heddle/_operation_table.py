# SPDX-License-Identifier: Apache-2.0
# Written by python/make_operations.py from dialects/Transformer; change that.
"""What ``EntryBuilder`` knows of each operation."""

#: By operation: its arguments and how they are taken, the type of its result, the argument
#: that it changes, and whether it says how many operands each has.
OPERATIONS = {
    "accumulate": (
        (("state", "state"), ("input", "rows"), ("rows", "segments")),
        "like:state", "state", False),
    "activate": (
        (("function", "word:activation"), ("input", "tensor")),
        "like:input", None, False),
    "add": (
        (("lhs", "tensor"), ("rhs", "tensor")),
        "like:lhs", None, False),
    "angles": (
        (("rows", "segments"), ("frequencies", "numbers"), ("most", "whole")),
        "rule", None, False),
    "append": (
        (("cache", "cache"), ("input", "rows"), ("rows", "segments")),
        "like:cache", "cache", False),
    "blocks": (
        (("rows", "segments"), ("size", "whole")),
        "kind:segments", None, False),
    "cached": (
        (("cache", "cache"), ("rows", "segments")),
        "rule", None, False),
    "choices": (
        (("rows", "segments"), ("count", "whole")),
        "kind:segments", None, False),
    "chosen_linear": (
        (("input", "rows"), ("choice", "ids"), ("weight", "parameter"), ("bias", "parameter?"),
         ("maps", "whole")),
        "rule", None, False),
    "clamp": (
        (("input", "tensor"), ("least", "number"), ("most", "number")),
        "like:input", None, False),
    "columns": (
        (("input", "rows"), ("first", "whole")),
        "rule", None, False),
    "combine": (
        (("function", "word:combination"), ("lhs", "tensor"), ("rhs", "tensor")),
        "like:lhs", None, False),
    "concat": (
        (("inputs", "rows*"),),
        "rule", None, False),
    "contract": (
        (("axes", "text"), ("lhs", "tensor"), ("rhs", "tensor"), ("segments", "segments*")),
        "rule", None, False),
    "convolve": (
        (("input", "rows"), ("rows", "segments"), ("state", "state?"), ("weight", "parameter"),
         ("bias", "parameter?"), ("dilation", "whole"), ("causal", "flag")),
        "like:input", None, False),
    "convolve_keys": (
        (("input", "tensor"), ("weight", "parameter"), ("queries", "segments"), ("keys",
         "segments")),
        "rule", None, False),
    "divide_by_sum": (
        (("input", "tensor"), ("keys", "segments")),
        "like:input", None, False),
    "gather": (
        (("table", "parameter"), ("ids", "ids")),
        "rule", None, False),
    "history": (
        (("rows", "segments"),),
        "kind:segments", None, False),
    "join_rows": (
        (("input", "rows"), ("choices", "segments")),
        "rule", None, False),
    "keep": (
        (("state", "state"), ("input", "rows"), ("rows", "segments")),
        "like:state", "state", False),
    "layer_norm": (
        (("input", "rows"), ("weight", "parameter"), ("bias", "parameter"), ("epsilon", "number")),
        "like:input", None, False),
    "linear": (
        (("input", "rows"), ("weight", "parameter"), ("bias", "parameter?")),
        "rule", None, False),
    "load": (
        (("state", "state"), ("keys", "segments?"), ("given", "flag")),
        "rule", None, False),
    "mask": (
        (("visibility", "visibility"), ("queries", "segments"), ("keys", "segments")),
        "kind:mask", None, False),
    "mask_bias": (
        (("mask", "mask"), ("hidden", "number")),
        "rule", None, False),
    "merge_heads": (
        (("input", "heads"),),
        "rule", None, False),
    "multiply": (
        (("lhs", "tensor"), ("rhs", "tensor")),
        "like:lhs", None, False),
    "normalize": (
        (("input", "rows"), ("epsilon", "number")),
        "like:input", None, False),
    "pair_sum": (
        (("query", "rows"), ("key", "rows"), ("queries", "segments"), ("keys", "segments")),
        "rule", None, False),
    "place_columns": (
        (("value", "rows"), ("choice", "ids")),
        "rule", None, False),
    "pool": (
        (("method", "word:pooling"), ("input", "rows"), ("rows", "segments"), ("blocks",
         "segments?")),
        "like:input", None, False),
    "positions": (
        (("rows", "segments"), ("offset", "whole")),
        "kind:ids", None, False),
    "prefix_mean": (
        (("input", "rows"), ("state", "state"), ("rows", "segments")),
        "rule", None, False),
    "reduce": (
        (("method", "word:reduction"), ("input", "rows")),
        "rule", None, False),
    "relative_bias": (
        (("table", "parameter"), ("queries", "segments"), ("keys", "segments")),
        "rule", None, False),
    "repeat": (
        (("input", "rows"), ("choices", "segments")),
        "like:input", None, False),
    "repeat_heads": (
        (("input", "heads"),),
        "rule", None, False),
    "rms_norm": (
        (("input", "rows"), ("weight", "parameter"), ("epsilon", "number")),
        "like:input", None, False),
    "row_softmax": (
        (("input", "rows"),),
        "like:input", None, False),
    "scale": (
        (("input", "tensor"), ("factor", "number")),
        "like:input", None, False),
    "select": (
        (("mask", "mask"), ("scores", "tensor"), ("hidden", "number")),
        "like:scores", None, False),
    "shift": (
        (("input", "tensor"), ("number", "number")),
        "like:input", None, False),
    "slide": (
        (("kind", "word:slide_kind"), ("input", "rows"), ("rows", "segments"), ("to", "segments?"),
         ("state", "state?"), ("weight", "parameter?"), ("window", "window"), ("groups", "whole")),
        "rule", None, True),
    "softmax": (
        (("input", "tensor"), ("keys", "segments")),
        "like:input", None, False),
    "split_heads": (
        (("input", "rows"),),
        "rule", None, False),
    "split_rows": (
        (("input", "rows"), ("choices", "segments")),
        "rule", None, False),
    "spread": (
        (("input", "rows"), ("rows", "segments")),
        "like:input", None, False),
    "store": (
        (("state", "state"), ("input", "tensor")),
        "like:state", "state", False),
    "strided": (
        (("rows", "segments"), ("down", "whole"), ("right", "whole"), ("across", "whole")),
        "kind:segments", None, False),
    "top_k": (
        (("input", "rows"), ("choices", "segments")),
        "rule", None, False),
    "transpose": (
        (("input", "tensor"), ("permutation", "wholes")),
        "rule", None, False),
    "weight": (
        (("parameter", "parameter"),),
        "rule", None, False),
}

#: The words of enumerations.
WORDS = {
    "activation": ("gelu", "gelu_new", "relu", "tanh", "silu", "sigmoid", "quick_gelu", "softplus",
                  "abs", "sin", "cos", "floor", "rsqrt", "exp", "log", "erf", "sqrt", "reciprocal",
                  "nan_to_zero"),
    "combination": ("subtract", "divide", "minimum", "maximum"),
    "pooling": ("mean", "cls", "max", "sum"),
    "reduction": ("mean", "sum", "max", "min"),
    "slide_kind": ("patches", "depthwise", "max"),
}
