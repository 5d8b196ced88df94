# SPDX-License-Identifier: Apache-2.0
"""Waiting for results: as pieces of a text, and in coroutines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from . import _core
from ._results import Hypothesis, Piece

# Seconds that a wait goes without looking for Ctrl-C.
_BETWEEN_SIGNALS = 0.05
# Seconds after which the thread of coroutines goes when there is nothing to do.
_IDLE = 5.0
# What decoders write for bytes that are not yet a character.
_INCOMPLETE = "\ufffd"


def hypotheses_of(waiting: _core.Waiting) -> list:
    """The results of a finished request."""
    return [[Hypothesis(*each) for each in result] for result in waiting.take()]


class _Text:
    """Cuts a growing list of tokens into pieces of text that are certain."""

    def __init__(self, core: _core.Model):
        self._core = core
        self._said = ""
        self._tokens = 0

    def more(self, tokens: list) -> Piece | None:
        """The piece for these tokens, if they make one."""
        if len(tokens) <= self._tokens:
            return None
        text = self._core.decode(tokens)
        if text is None:
            return self._piece("", tokens)
        # A half character, and spaces that the next token may take away, wait.
        text = text.rstrip(_INCOMPLETE + " ")
        if not text.startswith(self._said) or len(text) == len(self._said):
            return None
        said, self._said = self._said, text
        return self._piece(text[len(said):], tokens)

    def last(self, hypotheses: list) -> Piece:
        """The piece that ends the text."""
        if not hypotheses:
            return Piece("", [], None)
        best: Hypothesis = hypotheses[0]
        text = best.text or ""
        # A decoder that cleans up the end of a text may have changed what was said.
        rest = text[len(self._said):] if text.startswith(self._said) else ""
        return Piece(rest, best.tokens[self._tokens:], best)

    def _piece(self, text: str, tokens: list) -> Piece:
        new = tokens[self._tokens:]
        self._tokens = len(tokens)
        return Piece(text, new)


def pieces(core: _core.Model, waiting: _core.Waiting) -> Iterator[Piece]:
    """The pieces of a request that follows one source."""
    text = _Text(core)
    try:
        while not waiting.advance(_BETWEEN_SIGNALS):
            if (piece := text.more(waiting.tokens())) is not None:
                yield piece
        yield text.last(hypotheses_of(waiting)[0])
    finally:
        waiting.cancel()


class AsyncWaits:
    """Wakes coroutines. While any of them waits, one thread takes the steps of the running batch."""

    def __init__(self, core: _core.Model):
        self._core = core
        self._mutex = threading.Condition()
        self._waits: dict[int, tuple] = {}
        self._running = False

    async def results(self, waiting: _core.Waiting) -> list:
        """The results of a request."""
        loop = asyncio.get_running_loop()
        done: asyncio.Event = asyncio.Event()
        self._begin(waiting, lambda: loop.call_soon_threadsafe(done.set))
        try:
            while not waiting.advance(0):
                done.clear()
                await done.wait()
        finally:
            self._end(waiting)
            waiting.cancel()
        return hypotheses_of(waiting)

    async def pieces(self, waiting: _core.Waiting) -> AsyncIterator[Piece]:
        """The pieces of a request that follows one source."""
        loop = asyncio.get_running_loop()
        news: asyncio.Event = asyncio.Event()
        text = _Text(self._core)
        self._begin(waiting, lambda: loop.call_soon_threadsafe(news.set))
        try:
            while not waiting.advance(0):
                if (piece := text.more(waiting.tokens())) is not None:
                    yield piece
                await news.wait()
                news.clear()
            yield text.last(hypotheses_of(waiting)[0])
        finally:
            self._end(waiting)
            waiting.cancel()

    def _begin(self, waiting: _core.Waiting, wake: Callable[[], Any]) -> None:
        with self._mutex:
            self._waits[id(waiting)] = (waiting, wake)
            self._mutex.notify()
            if not self._running:
                self._running = True
                threading.Thread(target=self._drive, name="heddle", daemon=True).start()

    def _end(self, waiting: _core.Waiting) -> None:
        with self._mutex:
            self._waits.pop(id(waiting), None)

    def _drive(self) -> None:
        while True:
            with self._mutex:
                if not self._waits and not self._mutex.wait_for(lambda: bool(self._waits), _IDLE):
                    self._running = False
                    return
            self._step()

    def _step(self) -> None:
        # A function of its own, so that the thread keeps nothing while it waits for work.
        with self._mutex:
            waits = list(self._waits.values())
        if waits:
            waits[0][0].drive(_BETWEEN_SIGNALS)
        for waiting, wake in waits:
            if waiting.has_news():
                try:
                    wake()
                except RuntimeError:
                    # Its loop is closed: nobody waits.
                    self._end(waiting)
