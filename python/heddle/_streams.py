# SPDX-License-Identifier: Apache-2.0
"""Waiting for results: as pieces of a text, and in coroutines."""

from __future__ import annotations

import atexit
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any, Optional

from . import _core
from ._results import Hypothesis, Piece, TokenScore

# Seconds that a wait goes without looking for Ctrl-C.
_BETWEEN_SIGNALS = 0.05
# Seconds after which the thread of coroutines goes when there is nothing to do.
_IDLE = 5.0
# What decoders write for bytes that are not yet a character.
_INCOMPLETE = "\ufffd"


async def in_thread(function: Callable, *given: Any, **options: Any) -> Any:
    """What a function returns, in a thread, so that other coroutines go on."""
    # It takes as long to import as the rest of heddle: only those who have coroutines wait for it.
    import asyncio
    return await asyncio.to_thread(function, *given, **options)


def _top_scores(places: Optional[list]) -> Optional[list]:
    return places and [[TokenScore(*each) for each in place] for place in places]


def hypotheses_of(waiting: _core.Waiting) -> list:
    """The results of a finished request."""
    return [[Hypothesis(*each[:5], _top_scores(each[5]), *each[6:]) for each in result]
            for result in waiting.take()]


class _Begun:
    """The text of an answer that begins with a prefix. It depends on both, in that a first word has
    no space before it; so it is decoded whole, and said as far as it is certain."""

    def __init__(self, core: _core.Model, prefix: list):
        self._core = core
        self._tokens = list(prefix)
        self._said = ""

    def more(self, tokens: list, last: bool) -> str:
        """What the text goes on with."""
        self._tokens += tokens
        text = self._core.decode(self._tokens)
        if text is None:
            return ""
        if not last:
            # A half character, and spaces that the next token may take away, wait.
            text = text.rstrip(_INCOMPLETE + " ")
        # A decoder that cleans up the end of a text may have changed what was said.
        if not text.startswith(self._said):
            return ""
        new, self._said = text[len(self._said):], text
        return new


class _Told:
    """Makes pieces of the events of a request."""

    def __init__(self, core: _core.Model, waiting: _core.Waiting):
        self._core = core
        self._waiting = waiting
        self._prefix = waiting.prefix()
        self._begun: dict[int, _Begun] = {}

    def next(self, seconds: float) -> tuple:
        """Whether all is told, and the pieces that are new."""
        done, events = self._waiting.advance(seconds)
        told = [self._piece(*event) for event in events]
        if done:
            results = hypotheses_of(self._waiting)[0]
            last = told.pop() if told else Piece("", [])
            told.append(replace(last, hypothesis=results[0] if results else None,
                                hypotheses=results))
        return done, told

    def _piece(self, sample: int, tokens: list, scores: Any, best: Optional[list], text: str,
               finish: Optional[str]) -> Piece:
        if self._prefix:
            begun = self._begun.get(sample)
            if begun is None:
                begun = self._begun[sample] = _Begun(self._core, self._prefix)
                text, tokens = begun.more(tokens, finish is not None), self._prefix + tokens
            else:
                text = begun.more(tokens, finish is not None)
        return Piece(text, tokens, sample=sample, finish=finish, token_scores=scores,
                     top_scores=_top_scores(best))


def pieces(core: _core.Model, waiting: _core.Waiting) -> Iterator[Piece]:
    """The pieces of a request that follows one source."""
    told = _Told(core, waiting)
    try:
        done = False
        while not done:
            done, new = told.next(_BETWEEN_SIGNALS)
            yield from new
    finally:
        waiting.cancel()


class AsyncWaits:
    """Wakes coroutines. While any of them waits, one thread takes the steps of the running batch."""

    def __init__(self, core: _core.Model):
        self._core = core
        self._mutex = threading.Condition()
        self._waits: dict[int, tuple] = {}
        self._thread: Optional[threading.Thread] = None
        self._ending = False

    def join(self) -> None:
        """Ends the thread after its step."""
        with self._mutex:
            self._ending = True
            self._mutex.notify()
            thread = self._thread
        if thread is not None:
            thread.join()
        self._ending = False

    async def results(self, waiting: _core.Waiting) -> list:
        """The results of a request."""
        import asyncio
        loop = asyncio.get_running_loop()
        done: asyncio.Event = asyncio.Event()
        self._begin(waiting, lambda: loop.call_soon_threadsafe(done.set))
        try:
            while not waiting.advance(0)[0]:
                done.clear()
                await done.wait()
        finally:
            self._end(waiting)
            waiting.cancel()
        return hypotheses_of(waiting)

    async def pieces(self, waiting: _core.Waiting) -> AsyncIterator[Piece]:
        """The pieces of a request that follows one source."""
        import asyncio
        loop = asyncio.get_running_loop()
        news: asyncio.Event = asyncio.Event()
        told = _Told(self._core, waiting)
        self._begin(waiting, lambda: loop.call_soon_threadsafe(news.set))
        try:
            while True:
                done, new = told.next(0)
                for piece in new:
                    yield piece
                if done:
                    return
                await news.wait()
                news.clear()
        finally:
            self._end(waiting)
            waiting.cancel()

    def _begin(self, waiting: _core.Waiting, wake: Callable[[], Any]) -> None:
        with self._mutex:
            self._waits[id(waiting)] = (waiting, wake)
            self._mutex.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._drive, name="heddle", daemon=True)
                self._thread.start()
                _driving.add(self)

    def _end(self, waiting: _core.Waiting) -> None:
        with self._mutex:
            self._waits.pop(id(waiting), None)

    def _drive(self) -> None:
        while True:
            with self._mutex:
                self._mutex.wait_for(lambda: self._ending or bool(self._waits), _IDLE)
                if self._ending or not self._waits:
                    self._thread = None
                    _driving.discard(self)
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


# Those with a thread. It is a daemon, so that a request nobody waits for any more does not hold up
# the end of the program. Such a thread must not take the interpreter's lock while that ends: Python
# 3.13 and older end the thread there, and the process with it if the thread is in compiled code.
_driving: set[AsyncWaits] = set()


@atexit.register
def _join() -> None:
    for waits in list(_driving):
        waits.join()
