# SPDX-License-Identifier: Apache-2.0
"""A loaded model: what one calls. The computing is in heddle._core."""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _arguments as arguments
from . import _core
from ._arguments import Ids
from ._classification import Classifying
from ._errors import InvalidArgument, Unsupported, WrongType
from ._generation import Generation
from ._measuring import Measuring
from ._results import CacheUse, Info, info_of
from ._run import run_decoder, run_entry
from ._streams import AsyncWaits, in_thread

Path = Union[str, "os.PathLike[str]"]
_open: "weakref.WeakSet[Model]" = weakref.WeakSet()
_MOST_THREADS = 1024
# What ``shared`` has loaded: the file as it was, and the model.
_shared: dict[tuple, tuple] = {}
_shared_lock = threading.Lock()


def _path(path: Any) -> bytes:
    if not isinstance(path, (str, os.PathLike)):
        raise WrongType(f"path is {type(path).__name__}, expected str or a path")
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidArgument(f"path is {os.fspath(path)!r}, expected one without a zero byte")
    return name


def load(path: Path, threads: int = 1, device: Optional[str] = None, *, isa: Optional[str] = None,
         verify: bool = False, cache_bytes: int = 1 << 30, batch_tokens: int = 4096,
         prompt_tokens: int = 512, prompt_tokens_beside: int = 16,
         share_prefixes: bool = True) -> "Model":
    """Loads a compiled model. Its file is mapped: processes that load it share its weights.

    Args:
        path: the binary that heddlec wrote.
        threads: threads that compute a call, the calling one included.
        device: where it runs: "cpu", as without it; "cuda", the first GPU; "cuda:1", the second; "auto",
            the first GPU if there is one and the file has code for it, else the CPU.
        isa: the target to run, one of the file's; by default the best that the processor has.
        verify: also compare the weights with their checksums, which reads the whole file.
        cache_bytes: the most memory for keys and values of generation, in bytes.
        batch_tokens: the most source tokens, or tokens of prompts that are not shared, in the running
            batch of generation, counted once for each hypothesis.
        prompt_tokens: the most tokens of prompts that a step of generation computes; a longer prompt
            is computed in pieces, with the same bits.
        prompt_tokens_beside: the same of a step that has running answers to extend: how long these
            wait for prompts.
        share_prefixes: compute what caches have of tokens that prompts begin with once, and keep it
            in memory that nothing else needs.

    Returns:
        The model. It may be used by any number of threads and coroutines at once.

    Raises:
        Error: the file is not there, damaged, or has no code for this processor.
    """
    return Model(path, threads, device, isa=isa, verify=verify, cache_bytes=cache_bytes,
                 batch_tokens=batch_tokens, prompt_tokens=prompt_tokens,
                 prompt_tokens_beside=prompt_tokens_beside, share_prefixes=share_prefixes)


def shared(path: Path, **options: Any) -> "Model":
    """The model of a file that all of this process share: the first caller loads it, and it stays. For
    functions that engines such as Spark and Dask call again and again in their workers.

    Args:
        path: the binary that heddlec wrote. One that was replaced, or closed, is loaded again.
        options: those of ``load``. Callers with other options get a model of their own.

    Returns:
        The model.
    """
    name = os.path.realpath(os.fsdecode(_path(path)))
    try:
        about = os.stat(name)
    except OSError:
        # Loading says what is wrong.
        return load(path, **options)
    key = (name, tuple(sorted(options.items())))
    file = (about.st_dev, about.st_ino, about.st_mtime_ns, about.st_size)
    with _shared_lock:
        kept = _shared.get(key)
        if kept is None or kept[0] != file or kept[1].closed:
            kept = _shared[key] = (file, load(name, **options))
        return kept[1]


def info(path: Path) -> Info:
    """Describes a compiled model without running any of its code."""
    return info_of(json.loads(_core.describe(_path(path))))


class Model(Classifying, Generation, Measuring):
    """A compiled model, made by ``heddle.load``.

    Any number of threads and coroutines may use it at once: what they generate runs in one batch,
    and results have the same bits whoever else is in it. Ctrl-C ends every call. ``with`` closes it.
    """

    def __init__(self, path: Path, threads: int = 1, device: Optional[str] = None, *,
                 isa: Optional[str] = None, verify: bool = False, cache_bytes: int = 1 << 30,
                 batch_tokens: int = 4096, prompt_tokens: int = 512,
                 prompt_tokens_beside: int = 16, share_prefixes: bool = True):
        if device is not None and not isinstance(device, str):
            raise WrongType(f"device is {device!r}, expected str")
        if isa is not None and not isinstance(isa, str):
            raise WrongType(f"isa is {isa!r}, expected str")
        self._options = {"threads": arguments.whole("threads", threads, 1, _MOST_THREADS),
                         "device": arguments.unicode("device", device or ""),
                         "isa": isa or "", "verify": arguments.flag("verify", verify),
                         "cache_bytes": arguments.whole("cache_bytes", cache_bytes, 1, 2**63 - 1),
                         "batch_tokens": arguments.whole("batch_tokens", batch_tokens, 1, 2**40),
                         "prompt_tokens": arguments.whole("prompt_tokens", prompt_tokens, 1, 2**40),
                         "prompt_tokens_beside": arguments.whole(
                             "prompt_tokens_beside", prompt_tokens_beside, 1, 2**40),
                         "share_prefixes": arguments.flag("share_prefixes", share_prefixes)}
        self._path = _path(path)
        options = _core.LoadOptions()
        for name, value in self._options.items():
            setattr(options, name, value)
        self._core = _core.Model(self._path, options)
        self._info: Optional[Info] = None
        self._waits = AsyncWaits(self._core)
        _open.add(self)

    # --- what it is ---------------------------------------------------------------------------

    @property
    def path(self) -> str:
        """The file that it was loaded from."""
        return os.fsdecode(self._path)

    @property
    def info(self) -> Info:
        """What is known about it: entries, precision, targets, sizes."""
        if self._info is None:
            self._info = info_of(json.loads(_core.describe(self._path)))
        return self._info

    @property
    def isa(self) -> str:
        """The target that runs, for example "x86-64-v4"."""
        return self._core.isa

    @property
    def device(self) -> str:
        """Where it runs: "cpu", "cuda:0"."""
        return self._core.device

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._core.closed

    def close(self) -> None:
        """Gives its memory back; calls that are under way finish first, later ones fail."""
        self._core.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<heddle.Model {self.path!r}{', closed' if self.closed else ''}>"

    def __reduce__(self) -> tuple:
        # Another process maps the same file.
        return (_load_again, (self.path, self._options))

    @property
    def chat_templates(self) -> list:
        """The names of its chat templates; empty: it has none."""
        return self._core.chat_templates

    def cache_use(self) -> CacheUse:
        """The memory that generation uses now, and what its prompts have shared."""
        return CacheUse(*self._core.use())

    # --- embeddings ---------------------------------------------------------------------------

    def get_sentence_embedding_dimension(self) -> int:
        """The number of floats in an embedding."""
        return self._core.embedding_width()

    def encode(self, sentences: Union[str, Sequence[str]], prompt_name: Optional[str] = None,
               prompt: Optional[str] = None, batch_size: int = 32,
               show_progress_bar: Optional[bool] = None, output_value: str = "sentence_embedding",
               precision: str = "float32", convert_to_numpy: bool = True,
               convert_to_tensor: bool = False, device: Optional[str] = None,
               normalize_embeddings: bool = False) -> Any:
        """Embeds texts. Takes the arguments of sentence-transformers' method of this name.

        Args:
            sentences: a text, or a list of texts. Long ones are cut at the model's limit.
            prompt_name: no compiled model has named prompts: only None.
            prompt: put before every text.
            batch_size: the texts that run at once. It changes no bit of the result.
            show_progress_bar: print how many texts are done to standard error.
            output_value: only "sentence_embedding"; ``run`` gives other outputs.
            precision: only "float32".
            convert_to_numpy: False gives a list with an array for each text.
            convert_to_tensor: True gives a tensor of PyTorch, which must be installed.
            device: None, or the model's.
            normalize_embeddings: divide each embedding by its Euclidean norm.

        Returns:
            float32 [texts, width], in the order of the texts; for a single text [width].

        Raises:
            Error: an argument is wrong, or the model does not embed.
        """
        single = isinstance(sentences, str)
        texts = [sentences] if single else arguments.texts("sentences", sentences)
        size = arguments.whole("batch_size", batch_size, 1, 2**31 - 1)
        normalize = arguments.flag("normalize_embeddings", normalize_embeddings)
        arguments.word("output_value", output_value, ("sentence_embedding",))
        arguments.word("precision", precision, ("float32",))
        if device is not None:
            arguments.word("device", device, (self.device,))
        if prompt_name is not None:
            raise Unsupported(f"prompt_name is {prompt_name!r}, expected None: a compiled model has "
                              "no named prompts, prompt= takes the text of one")
        if prompt is not None:
            if not isinstance(prompt, str):
                raise WrongType(f"prompt is {prompt!r}, expected str")
            texts = [prompt + text if isinstance(text, str) else text for text in texts]
        rows = np.empty((len(texts), self._core.embedding_width()), np.float32)
        progress = _progress(len(texts)) if show_progress_bar else None
        self._core.embed(texts, rows, size, normalize, progress)
        if convert_to_tensor:
            import torch  # type: ignore[import-not-found]
            return torch.from_numpy(rows[0] if single else rows)
        if single:
            return rows[0]
        return rows if convert_to_numpy else list(rows)

    async def aencode(self, sentences: Union[str, Sequence[str]], **options: Any) -> Any:
        """As ``encode``, in a thread, so that other coroutines go on."""
        return await in_thread(self.encode, sentences, **options)

    def tokenize(self, texts: Union[str, Sequence[str]]) -> list:
        """The token ids of texts, special tokens included: a list of int for each, or for one text."""
        if isinstance(texts, str):
            return self._core.tokenize([texts])[0]
        return self._core.tokenize(arguments.texts("texts", texts))

    def decode(self, tokens: Ids) -> Optional[str]:
        """The text of token ids of what a model generates, without special tokens; None if the model
        has no tokenizer."""
        return self._core.decode(arguments.ids("tokens", tokens).tolist())

    # --- any entry ----------------------------------------------------------------------------

    def run(self, inputs: Optional[Mapping[str, Any]] = None, *, entry: Optional[str] = None,
            outputs: Optional[Sequence[str]] = None, lengths: Optional[Ids] = None,
            attention_mask: Optional[np.ndarray] = None, **named: Any) -> dict:
        """Runs one entry of the model over a batch of sequences.

        Inputs are named as ``info.entries[...].inputs`` says, as keywords or in a mapping. Each is

        * ragged: a list with the ids of each sequence, or with its rows [tokens, width];
        * rectangular: ids [sequences, tokens] or rows [sequences, tokens, width]; where sequences
          are shorter, ``attention_mask`` [sequences, tokens] of ones and zeros says so;
        * flat: ids [tokens] or rows [tokens, width] of all sequences end to end, and ``lengths``
          [sequences].

        Outputs have the form of the inputs: for each token a row, in a list of arrays, in one array
        with zeros for padding, or in one flat array; for each sequence a row of one array. Arrays of
        int32 and float32 that lie in one piece are not copied on the way in, outputs never.

        A model that generates has no entry to run alone: it takes ``source`` and ``target``, ragged
        or rectangular ids, and computes what its decoder says to the given targets. Its outputs are
        those of both entries, "encode.NAME" and "decode.NAME".

        Args:
            inputs: inputs by name.
            entry: the entry's name; by default the first.
            outputs: the names of the outputs to compute; by default all.
            lengths: int [sequences], the tokens of each sequence of flat inputs.
            attention_mask: [sequences, tokens]; the ones of a row stand together, but for models of
                ONNX graphs, which take them anywhere.
            named: inputs by name.

        Returns:
            The outputs by name, float32.
        """
        if inputs is not None and not isinstance(inputs, Mapping):
            entry_hint = f"; entry={inputs!r} names an entry" if isinstance(inputs, str) else ""
            raise WrongType(f"inputs is {type(inputs).__name__}, expected a dict of inputs by name"
                            f"{entry_hint}")
        given = {**(inputs or {}), **named}
        if entry is None and self.info.generates:
            return run_decoder(self._core, given)
        return run_entry(self._core, self.info, entry, given, outputs, lengths, attention_mask)


def _load_again(path: str, options: dict) -> Model:
    return load(path, **options)


def _progress(total: int) -> Any:
    def show(done: int) -> None:
        end = "\n" if done == total else ""
        print(f"\rheddle: {done} of {total} texts", end=end, file=sys.stderr, flush=True)
    return show


def _after_fork() -> None:
    global _shared_lock
    # A thread that is not here may have had it.
    _shared_lock = threading.Lock()
    for model in list(_open):
        model._waits = AsyncWaits(model._core)
        if not model.closed:
            model._core.after_fork()


os.register_at_fork(after_in_child=_after_fork)
