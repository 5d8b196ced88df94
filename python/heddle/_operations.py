# SPDX-License-Identifier: Apache-2.0
# Written by python/make_operations.py from dialects/Transformer; change that.
"""The operations of the model level, as methods of an entry under construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from ._values import Cache, Ids, Mask, Parameter, Segments, State, Tensor


class Operations:
    """Mathematics on the rows of all sequences, laid end to end: [t, w] are t rows of width w, h are
    heads, d is their size, and k are the keys of a row's own sequence. Every operation is one of the
    dialect, checked when it is made as far as its result depends on that, and by the compiler."""

    def _make(self, operation: str, given: dict) -> Any:
        raise NotImplementedError

    def accumulate(self, state: State, input: Tensor, rows: Segments) -> State:
        """Adds the rows of each sequence to the state, in their order.

        Entries take states as arguments, as they take caches, and return those they have
        accumulated into."""
        return self._make("accumulate", {"state": state, "input": input, "rows": rows})

    def activate(self, function: str, input: Tensor) -> Tensor:
        """A scalar function of every element.

        * ``gelu``: x Phi(x) = x (1 + erf(x / sqrt 2)) / 2
        * ``gelu_new``: x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
        * ``relu``: max(x, 0)
        * ``tanh``, ``sin``, ``cos``: the functions of these names, of radians
        * ``silu``: x sigmoid(x)
        * ``sigmoid``: 1 / (1 + exp(-x))
        * ``quick_gelu``: x sigmoid(1.702 x)
        * ``softplus``: log(1 + exp(x))
        * ``abs``: |x|
        * ``floor``: the largest integer of at most x
        * ``rsqrt``: 1 / sqrt(x), which of a negative number is NaN
        * ``exp``: the exponential function
        * ``log``: the natural logarithm, which of a negative number is NaN
        * ``erf``: the error function
        * ``sqrt``: the square root, which of a negative number is NaN
        * ``reciprocal``: 1 / x
        * ``nan_to_zero``: x, or 0 if x is NaN

        ``function`` is one of gelu, gelu_new, relu, tanh, silu, sigmoid, quick_gelu, softplus, abs,
        sin, cos, floor, rsqrt, exp, log, erf, sqrt, reciprocal, nan_to_zero."""
        return self._make("activate", {"function": function, "input": input})

    def add(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        """Element-wise sum.

        The right operand has the type of the left, or is a weight of fewer axes that is repeated
        along the leading ones, or a rank-2 mask bias [t, k] added to scores [t, h, k] for every
        head."""
        return self._make("add", {"lhs": lhs, "rhs": rhs})

    def angles(self, rows: Segments, frequencies: Sequence[float], most: int = 0) -> Tensor:
        """The position of each row times frequencies: the angles of rotary positions.

        ``result[t, i] = p * frequencies[i]`` where p is the position of t as ``positions`` counts
        it, from 0, in f32. Sines and cosines of them are ``activate``.

        With ``most`` above 0 sequences have at most that many rows: what else the frequencies
        depend on does not hold beyond.

        Source: Su et al., "RoFormer: enhanced Transformer with rotary position embedding", section
        3.2."""
        return self._make("angles", {"rows": rows, "frequencies": frequencies, "most": most})

    def append(self, cache: Cache, input: Tensor, rows: Segments) -> Cache:
        """Appends the rows of each sequence to the cache.

        Entries take caches as arguments and return those they have appended to. They do not return
        caches that they only read."""
        return self._make("append", {"cache": cache, "input": input, "rows": rows})

    def blocks(self, rows: Segments, size: int) -> Segments:
        """Blocks of ``size`` rows of each sequence, as rows of their own.

        Row j of a sequence stands for its rows j * size to (j + 1) * size - 1, of which the last
        block may lack some: n rows have ceil(n / size) blocks. ``pool`` makes rows of blocks; every
        second row is ``pool cls`` to blocks of 2.

        Source: the compressed keys and values of Liu et al., "Generating Wikipedia by summarizing
        long sequences", section 4.2.3."""
        return self._make("blocks", {"rows": rows, "size": size})

    def cached(self, cache: Cache, rows: Segments) -> Tensor:
        """The rows of a cache that belong to the segments."""
        return self._make("cached", {"cache": cache, "rows": rows})

    def choices(self, rows: Segments, count: int) -> Segments:
        """What each row chooses, ``count`` of something, as rows of their own.

        Row r of the segments has the rows r * count to (r + 1) * count - 1 of the result, its first
        choice first. ``top_k`` makes choices, ``repeat`` and ``split_rows`` give values to them,
        ``pool`` leads back. What has rows of blocks or sequences has choices of these."""
        return self._make("choices", {"rows": rows, "count": count})

    def chosen_linear(self, input: Tensor, choice: Ids, weight: Parameter, maps: int,
                      bias: Optional[Parameter] = None) -> Tensor:
        """The linear map that each row has chosen, of several.

        ``result[c, i] = sum over k of input[c, k] * weight[choice[c] * n + i, k]``, plus
        ``bias[choice[c] * n + i]``, where n is the width of the result. Rows that chose the same
        map are computed together; the work is that of one map for each row, however many there are
        to choose from."""
        return self._make("chosen_linear", {"input": input, "choice": choice, "weight": weight,
            "bias": bias, "maps": maps})

    def clamp(self, input: Tensor, least: float, most: float) -> Tensor:
        """Of every element the nearest number within bounds.

        ``min(max(x, least), most)``; NaN stays NaN. Either bound may be infinite."""
        return self._make("clamp", {"input": input, "least": least, "most": most})

    def columns(self, input: Tensor, first: int, count: int) -> Tensor:
        """Columns first .. first + width of rows, without a copy."""
        return self._make("columns", {"input": input, "first": first, "count": count})

    def combine(self, function: str, lhs: Tensor, rhs: Tensor) -> Tensor:
        """Element-wise difference, quotient, minimum or maximum.

        * ``subtract``: x - y
        * ``divide``: x / y
        * ``minimum``, ``maximum``: the smaller, the larger; NaN if either is

        where x is an element of the left operand and y the one of the right that it meets. What the
        right operand may be is what that of ``multiply`` may. ``x - y`` of the same type is as well
        ``add`` of ``scale`` by -1.

        ``function`` is one of subtract, divide, minimum, maximum."""
        return self._make("combine", {"function": function, "lhs": lhs, "rhs": rhs})

    def concat(self, inputs: Sequence[Tensor]) -> Tensor:
        """Columns of several rows side by side."""
        return self._make("concat", {"inputs": inputs})

    def contract(self, axes: str, lhs: Tensor, rhs: Tensor,
                 segments: Sequence[Segments] = ()) -> Tensor:
        """An Einstein summation of two operands.

        The specification names each axis of the left operand, the right operand and the result by a
        letter; products are summed over the axes that the result lacks. ``t`` are rows of queries;
        ``k`` are the keys of the row's own sequence, according to the segments in ``segments``
        (queries, then keys). A value with both ``t`` and ``k`` has one entry for each key of the
        row's own sequence; a value with ``k`` alone has all rows."""
        return self._make("contract", {"axes": axes, "lhs": lhs, "rhs": rhs, "segments": segments})

    def convolve(self, input: Tensor, rows: Segments, weight: Parameter,
                 state: Optional[State] = None, bias: Optional[Parameter] = None, dilation: int = 1,
                 causal: bool = False) -> Tensor:
        """A depthwise convolution over the rows of each sequence.

        ``result[t, c] = sum over j of weight[c, j] * input[t + (j - center) * dilation, c]``, plus
        ``bias[c]``, where t counts the rows of one sequence and rows outside the sequence are zero.
        The center is the middle of the kernel, (kernel - 1) / 2 rounded down; with ``causal`` it is
        the last element of the kernel, so that a row sees none after it.

        A causal convolution may continue an earlier run: ``state`` is a state that has the rows
        before this run, as ``keep`` left them. One run and several runs give the same bits.

        Source: Kaiser, Gomez and Chollet, "Depthwise separable convolutions for neural machine
        translation"; causal ones are those of van den Oord et al., "WaveNet"."""
        return self._make("convolve", {"input": input, "rows": rows, "state": state, "weight":
            weight, "bias": bias, "dilation": dilation, "causal": causal})

    def convolve_keys(self, input: Tensor, weight: Parameter, queries: Segments,
                      keys: Segments) -> Tensor:
        """A convolution over the keys of each row: [t, h, k] to [t, k, w].

        ``result[t, k, c] = sum over h, j of weight[c, h, j] * input[t, h, k + j - (n - 1) / 2]``
        with n elements for each head; what is before the first key of the row's own sequence or
        after its last one is zero. Where a step has looked becomes what its neighbours add to the
        scores of keys.

        Source: Chorowski et al., "Attention-based models for speech recognition", section 2.1."""
        return self._make("convolve_keys", {"input": input, "weight": weight, "queries": queries,
            "keys": keys})

    def divide_by_sum(self, input: Tensor, keys: Segments) -> Tensor:
        """x / sum, over the keys of each row and head.

        Weights of keys that no exponential makes: of sigmoids of scores it is the smooth attention
        of Chorowski et al., "Attention-based models for speech recognition", section 2.2. The sum
        runs over the last axis, the keys of the row's own sequence, in their order."""
        return self._make("divide_by_sum", {"input": input, "keys": keys})

    def gather(self, table: Parameter, ids: Ids) -> Tensor:
        """The row of a table for each id.

        ``result[t, :] = table[ids[t], :]``."""
        return self._make("gather", {"table": table, "ids": ids})

    def history(self, rows: Segments) -> Segments:
        """All positions of each sequence so far, including the rows of this run.

        The rows follow the positions of earlier runs. Without earlier runs the history is the rows."""
        return self._make("history", {"rows": rows})

    def join_rows(self, input: Tensor, choices: Segments) -> Tensor:
        """The choices of each row side by side: what split_rows undoes.

        ``result[r, j * width + c] = input[r * count + j, c]``, where ``width`` is the input's.
        Between ``split_rows`` and this, equal parts of the columns, such as heads, are rows of
        their own: a norm or a rotation of each is one of rows."""
        return self._make("join_rows", {"input": input, "choices": choices})

    def keep(self, state: State, input: Tensor, rows: Segments) -> State:
        """Keeps the last rows of each sequence in the state.

        The state has n rows of the input's width: the row at position p of its sequence takes the
        place of the one n positions before it, at p modulo n. What has not been written yet is
        anything; the rows before the first position count as zero for what reads them, such as a
        causal ``convolve``."""
        return self._make("keep", {"state": state, "input": input, "rows": rows})

    def layer_norm(self, input: Tensor, weight: Parameter, bias: Parameter,
                   epsilon: float) -> Tensor:
        """(x - mean) / sqrt(variance + epsilon) * weight + bias, over each row."""
        return self._make("layer_norm", {"input": input, "weight": weight, "bias": bias, "epsilon":
            epsilon})

    def linear(self, input: Tensor, weight: Parameter, bias: Optional[Parameter] = None) -> Tensor:
        """x W^T + b.

        ``result[t, n] = sum over k of input[t, k] * weight[n, k], plus bias[n]``."""
        return self._make("linear", {"input": input, "weight": weight, "bias": bias})

    def load(self, state: State, keys: Optional[Segments] = None, given: bool = False) -> Tensor:
        """The row that each sequence has in a state before this run.

        A row for each sequence: what ``store`` left in the run before. Before the first run it is
        zero or, with ``given``, what another entry has stored in the state of that name. A state
        with keys has its numbers for each key of the memory ``keys``."""
        return self._make("load", {"state": state, "keys": keys, "given": given})

    def mask(self, visibility: str, queries: Segments, keys: Segments) -> Mask:
        """Which keys of its own sequence each query sees.

        ``result[t, k]`` is true for ``all``; for ``causal``, it is true if the position of k is not
        after that of t; with bounds, as ``visibility`` says of the position of t. There are no
        padding masks, because there is no padding.

        ``visibility`` is a text: "all", "causal" or bounds.

        A query at position i, which counts from 0 in its sequence, sees

        * ``all``: every key;
        * ``causal``: the keys up to position i;
        * ``from B to B``: the keys at positions from the first bound on and before the second, of
          which either may be left out. A bound is ``i``, or ``(i + shift)``, then ``/ size``, ``*
          step`` and ``+ offset``, each of which may be left out; a quotient is rounded down.

        ``from i - 128 to i + 128`` is a window around the query, ``from i - 3 to i + 1`` the query
        and three keys before it, ``from i / 64 * 64 - 64 to i + 1`` its block of 64 up to itself,
        and the block before. Sources: Vaswani et al., "Attention is all you need", section 4; local
        attention of tensor2tensor. What lies beyond an end of the sequence is left out.

        Every query sees itself, so no row is without keys. Bounds that are the same at every
        position are one attribute: ``causal`` is ``to i + 1``."""
        return self._make("mask", {"visibility": visibility, "queries": queries, "keys": keys})

    def mask_bias(self, mask: Mask, hidden: float) -> Tensor:
        """A bias to add to scores: zero where the mask is true, ``hidden`` elsewhere."""
        return self._make("mask_bias", {"mask": mask, "hidden": hidden})

    def merge_heads(self, input: Tensor) -> Tensor:
        """[t, h, d] seen as rows [t, h * d]."""
        return self._make("merge_heads", {"input": input})

    def multiply(self, lhs: Tensor, rhs: Tensor) -> Tensor:
        """Element-wise product.

        The right operand has the type of the left, or is a weight of fewer axes that is repeated
        along the leading ones, or a weight of one number, or rows [t, 1] of one number each, the
        same rows as those of the left."""
        return self._make("multiply", {"lhs": lhs, "rhs": rhs})

    def normalize(self, input: Tensor, epsilon: float) -> Tensor:
        """Each row divided by its Euclidean length, or by epsilon if that is larger."""
        return self._make("normalize", {"input": input, "epsilon": epsilon})

    def pair_sum(self, query: Tensor, key: Tensor, queries: Segments, keys: Segments) -> Tensor:
        """The sum of each row and each of its keys: [t, w] and [k, w] to [t, k, w].

        ``result[t, k, :] = query[t, :] + key[k, :]`` for the keys of the row's own sequence. What
        scores that are no products are made of: v . tanh(q + k) is ``activate tanh`` of it, and the
        ``contract`` "tkw,hw->thk" with v.

        Source: Bahdanau, Cho and Bengio, "Neural machine translation by jointly learning to align
        and translate", appendix A.1.2."""
        return self._make("pair_sum", {"query": query, "key": key, "queries": queries, "keys":
            keys})

    def place_columns(self, value: Tensor, choice: Ids, columns: int) -> Tensor:
        """The values of choices in the columns that were chosen, zero in all others.

        ``result[r, choice[r * count + j]] = value[r, j]``, and 0 in columns that row r did not
        choose: what the weights of all experts are."""
        return self._make("place_columns", {"value": value, "choice": choice, "columns": columns})

    def pool(self, method: str, input: Tensor, rows: Segments,
             blocks: Optional[Segments] = None) -> Tensor:
        """One row for each sequence, block, or row that chose: a mean, first row, maximum or sum.

        The input's rows are those of ``rows``; the result's rows are sequences or, with ``blocks``,
        blocks of the input's rows, or the rows whose choices these are. A sum is taken in the order
        of the rows.

        ``method`` is one of mean, cls, max, sum."""
        return self._make("pool", {"method": method, "input": input, "rows": rows, "blocks":
            blocks})

    def positions(self, rows: Segments, offset: int = 0) -> Ids:
        """The position of each row in its sequence, from ``offset``.

        ``result[t] = offset + t - first row of the sequence of t``, plus the positions that the
        history of that sequence had before this run of the entry, if the entry has caches."""
        return self._make("positions", {"rows": rows, "offset": offset})

    def prefix_mean(self, input: Tensor, state: State, rows: Segments) -> Tensor:
        """The mean of all rows of the sequence up to and including each row.

        ``g[p] = (y[0] + ... + y[p]) / (p + 1)`` for the row at position p of its sequence. The
        state is the sum of the rows of earlier runs; before the first run it counts as zero,
        whatever its memory holds. The sum is taken in f32, in the order of positions, so that one
        run and several runs give the same bits.

        Source: the average attention of Zhang, Xiong and Su, "Accelerating neural Transformer via
        an average attention network"."""
        return self._make("prefix_mean", {"input": input, "state": state, "rows": rows})

    def reduce(self, method: str, input: Tensor) -> Tensor:
        """One number of each row: the mean, sum, largest or smallest of its columns.

        A row with a NaN gives NaN. The numbers go where ``multiply`` and ``combine`` take one a
        row.

        ``method`` is one of mean, sum, max, min."""
        return self._make("reduce", {"method": method, "input": input})

    def relative_bias(self, table: Parameter, queries: Segments, keys: Segments) -> Tensor:
        """A bias to add to scores: one number for each head and distance of a key from its query.

        ``result[t, h, k] = table[h, clamp(position(k) - position(t), -D, D) + D]``. Distances
        beyond D use the ends of the table. Source: Raffel et al., "Exploring the limits of transfer
        learning with a unified text-to-text transformer", section 2.1."""
        return self._make("relative_bias", {"table": table, "queries": queries, "keys": keys})

    def repeat(self, input: Tensor, choices: Segments) -> Tensor:
        """Each row, once for every choice of it.

        ``result[r * count + j, :] = input[r, :]``. A ``chosen_linear`` reads the input in its
        place."""
        return self._make("repeat", {"input": input, "choices": choices})

    def repeat_heads(self, input: Tensor, times: int) -> Tensor:
        """Every head several times: [t, g, d] to [t, g * r, d].

        ``result[t, h, :] = input[t, h / r, :]``: heads of keys or values that r adjacent heads of
        queries share. Source: Ainslie et al., "GQA: training generalized multi-query Transformer
        models from multi-head checkpoints", section 2.2."""
        return self._make("repeat_heads", {"input": input, "times": times})

    def rms_norm(self, input: Tensor, weight: Parameter, epsilon: float) -> Tensor:
        """x / sqrt(mean of x^2 + epsilon) * weight, over each row.

        Source: Zhang and Sennrich, "Root mean square layer normalization", equation 4."""
        return self._make("rms_norm", {"input": input, "weight": weight, "epsilon": epsilon})

    def row_softmax(self, input: Tensor) -> Tensor:
        """exp(x - max) / sum, over the columns of each row.

        A row with a NaN, with plus infinity or with nothing but minus infinity is all NaN."""
        return self._make("row_softmax", {"input": input})

    def scale(self, input: Tensor, factor: float) -> Tensor:
        """Every element times a number."""
        return self._make("scale", {"input": input, "factor": factor})

    def select(self, mask: Mask, scores: Tensor, hidden: float) -> Tensor:
        """The score where the mask is true, ``hidden`` elsewhere."""
        return self._make("select", {"mask": mask, "scores": scores, "hidden": hidden})

    def shift(self, input: Tensor, number: float) -> Tensor:
        """Every element plus a number."""
        return self._make("shift", {"input": input, "number": number})

    def slide(self, kind: str, input: Tensor, rows: Segments, window: Mapping[str, Any],
              to: Optional[Segments] = None, state: Optional[State] = None,
              weight: Optional[Parameter] = None, groups: int = 1) -> Tensor:
        """What a window sees of a sequence's rows: side by side, their weighted sum, or the largest.

        A row of the result is made of the rows of ``rows`` that the window sees where it stands
        (see ``window``); those outside the sequence are zero. Elements of the window count row by
        row.

        * ``patches``: all of them, side by side: element j is columns j * width on. A convolution
          of all channels is a linear map of patches. With ``groups`` the columns of the input are
          so many equal parts, each with its own patches, one part after the other: a grouped
          convolution is a linear map of each group.
        * ``depthwise``: column c is the sum over j of weight[c, j] times column c of element j.
        * ``max``: column c is the largest of column c of all elements. A window that is not causal
          leaves out what is outside the sequence; for a causal one it is zero.

        Like a ``convolve``, a causal window over a line may continue an earlier run, whose last
        rows are in the state ``state``.

        Sources: tensor2tensor's ``conv_block`` and ``xception``, whose margins these are; Chollet,
        "Xception: deep learning with depthwise separable convolutions".

        ``kind`` is one of patches, depthwise, max.

        ``window`` is a dict such as {"height": 3, "width": 3}; what is left out is 1, or False.

        The rows of a sequence are the pixels of an image, row by row, ``across`` in each; with
        ``across`` 1 they are places in a line, and ``across`` 0 is the width that each image has.
        The window has ``height`` x ``width`` elements, ``dilationDown`` and ``dilationRight``
        pixels from one to the next. It stands at every ``strideDown``th row of pixels and at every
        ``strideRight``th of its columns: an axis of n places becomes ceil(n / stride).

        Along an axis of n places the window begins floor(p / 2) places before the place it stands
        at, p = max((ceil(n / stride) - 1) * stride + (elements - 1) * dilation + 1 - n, 0): the
        margins "same" of TensorFlow. With ``causal`` it ends at the row, or the row of pixels, that
        it stands at; its columns are where they are without."""
        return self._make("slide", {"kind": kind, "input": input, "rows": rows, "to": to, "state":
            state, "weight": weight, "window": window, "groups": groups})

    def softmax(self, input: Tensor, keys: Segments) -> Tensor:
        """exp(x - max) / sum, over the keys of each row and head.

        The softmax runs over the last axis, the keys of the row's own sequence."""
        return self._make("softmax", {"input": input, "keys": keys})

    def split_heads(self, input: Tensor, heads: int) -> Tensor:
        """Rows [t, h * d] seen as [t, h, d]."""
        return self._make("split_heads", {"input": input, "heads": heads})

    def split_rows(self, input: Tensor, choices: Segments) -> Tensor:
        """Equal parts of the columns of each row as its choices.

        ``result[r * count + j, c] = input[r, j * width + c]``, where ``width`` is the result's."""
        return self._make("split_rows", {"input": input, "choices": choices})

    def spread(self, input: Tensor, rows: Segments) -> Tensor:
        """The row of each sequence at every row of the sequence.

        The input has a row for each sequence, as ``pool`` gives them; the result's rows are those
        of ``rows``."""
        return self._make("spread", {"input": input, "rows": rows})

    def store(self, state: State, input: Tensor) -> State:
        """Leaves a row for each sequence in the state.

        What a recurrence carries from run to run is loaded before it and stored after it, so that a
        step, a prefix in one piece and a prefix in chunks are the same mathematics. What one entry
        stores, such as how a decoder starts, another may load."""
        return self._make("store", {"state": state, "input": input})

    def strided(self, rows: Segments, down: int = 1, right: int = 1, across: int = 1) -> Segments:
        """Every n-th row of each sequence, or every n-th pixel of each image, as rows of their own.

        The rows of a sequence are the pixels of an image, row by row, ``across`` in each, of which
        every ``down``th row and every ``right``th column is left: an axis of n places has ceil(n /
        stride). Without ``across`` they are places in a line. What the new rows hold a window says:
        ``slide``.

        Images of one batch may have any height. With ``across`` 0 they may have any width too,
        which the caller says beside the number of their pixels. The rows of every sequence must be
        whole rows of pixels; the runtime refuses others."""
        return self._make("strided", {"rows": rows, "down": down, "right": right, "across": across})

    def top_k(self, input: Tensor, choices: Segments) -> tuple[Ids, Tensor]:
        """The numbers of the largest columns of each row, and what is in them.

        ``choice[r * count + j]`` is the column of row r with the j-th largest element, and
        ``value[r, j]`` that element; of equal elements the one of the lower column is first. A NaN
        is larger than any number and equal to any other NaN, so that what is made of the values of
        a row with NaNs is NaN; 0 and -0 are equal.

        Source: the gate of Shazeer et al., "Outrageously large neural networks: the sparsely-gated
        mixture-of-experts layer", without noise."""
        return self._make("top_k", {"input": input, "choices": choices})

    def transpose(self, input: Tensor, permutation: Sequence[int]) -> Tensor:
        """Reorders axes: axis i of the result is axis permutation[i] of the input."""
        return self._make("transpose", {"input": input, "permutation": permutation})

    def weight(self, parameter: Parameter) -> Tensor:
        """The value of a parameter, for operations other than ``linear`` and ``gather``."""
        return self._make("weight", {"parameter": parameter})
