# SPDX-License-Identifier: Apache-2.0
"""What models generate: answers to sources, texts that continue prompts, conversations, scores."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

import numpy as np

from . import _arguments as arguments
from . import _core
from ._arguments import Ids, Source
from ._errors import InvalidArgument, WrongType
from ._results import Piece, Score
from ._streams import AsyncWaits, hypotheses_of, in_thread, pieces

#: A conversation: dicts such as {"role": "user", "content": "..."}, as the model's template reads them.
Messages = Sequence[Mapping[str, Any]]


class Generation:
    """The part of ``Model`` that generates."""

    _core: _core.Model
    _waits: AsyncWaits

    def generate(self, sources: Union[Source, Sequence[Source]], *, rules: Optional[str] = None,
                 beam: Optional[int] = None, nbest: int = 1,
                 length_penalty: Optional[float] = None, coverage_penalty: float = 0.0,
                 no_repeat_ngram: Optional[int] = None, repetition_penalty: Optional[float] = None,
                 min_length: Optional[int] = None, max_length: Optional[int] = None,
                 early_stopping: Union[bool, str, None] = None, sample: Optional[bool] = None,
                 temperature: Optional[float] = None, top_k: Optional[int] = None,
                 top_p: Optional[float] = None, min_p: Optional[float] = None,
                 seed: Optional[int] = None, stop: Union[str, Sequence[str], None] = None,
                 json_schema: Union[str, bool, Mapping[str, Any], None] = None,
                 source_language: Union[str, Sequence[str], None] = None,
                 target_language: Union[str, Sequence[str], None] = None,
                 alternatives: bool = False, suppressed: Optional[Ids] = None,
                 forced_first: Optional[int] = None, forced_last: Optional[int] = None,
                 command: Union[int, Sequence[int], None] = None, token_scores: bool = False,
                 top_scores: int = 0, attention: bool = False,
                 prefix: Union[Source, Sequence[Source], None] = None,
                 shortlist: Union[Ids, Sequence[Ids], None] = None,
                 truncate: bool = False) -> list:
        """Generates texts: an encoder-decoder model answers sources, a decoder-only model continues
        prompts. Lengths are in tokens, and a prompt has no part in them.

        Args:
            sources: sources or prompts: a text, token ids, or rows of floats [rows, width] where the
                model reads those; or a list of such. An empty text has no hypotheses.
            rules: the search to reproduce: "paper", "transformers" or "ctranslate2".
            beam: hypotheses that the search follows; 1 is greedy.
            nbest: the most hypotheses in a result: at most ``beam``, or any number of samples.
            length_penalty: the exponent of the length that scores are divided by.
            coverage_penalty: weight of the penalty for source tokens that got no attention.
            no_repeat_ngram: no group of so many tokens occurs twice; 0: they may.
            repetition_penalty: penalty for repeated tokens; 1: none.
            min_length: the fewest tokens before the end.
            max_length: the most tokens, the end included.
            early_stopping: True stops as soon as there are as many texts as hypotheses, "never" only
                when no better one can come.
            sample: draw tokens at random instead of taking the best; left out, as the model does,
                unless ``beam`` or ``alternatives`` is given.
            temperature: of sampling, above 0.
            top_k: draw from so many most probable tokens; 0: all.
            top_p: draw from the fewest tokens whose probabilities add up to this.
            min_p: draw from tokens with at least this times the probability of the best.
            seed: of random numbers; the same seed gives the same text in any batch.
            stop: a text or several that end an answer before the first of them, wherever tokens
                begin; of a greedy search or samples.
            json_schema: what texts follow (docs/json-schema.md): a dict, or the text of a JSON schema.
            source_language: the language of the sources, one of ``info.languages.names``: one for all
                sources, or a list with one for each; by default the model's.
            target_language: that of the answers.
            alternatives: the ``nbest`` best first tokens after the prefix, each with its best end.
            suppressed: token ids that are never generated.
            forced_first: the id of the first token.
            forced_last: the id of the last token at the maximum length.
            command: which task, of a model of several: one for all sources, or one for each.
            token_scores: fill ``Hypothesis.token_scores``.
            top_scores: how many of the best tokens ``Hypothesis.top_scores`` has for each place, at
                most 100.
            attention: fill ``Hypothesis.attention``.
            prefix: the beginning of each text, a text or ids for each source. A prompt is one: a
                decoder-only model takes none.
            shortlist: the only token ids that may be generated for each source.
            truncate: cut sources that are longer than the model's positions. Prompts are not cut.

        Options that are left out are the model's own, as for ``heddle generate``.

        Returns:
            For a single source a list of Hypothesis, best first; for a list of sources a list with
            such a list for each, in their order.

        Raises:
            Error: an argument or a source is wrong; the message says which. Nothing was generated.
        """
        given = dict(locals())
        return _results(*self._add(given))

    def translate(self, sources: Union[Source, Sequence[Source]], **options: Any) -> list:
        """The same as ``generate``."""
        return self.generate(sources, **options)

    async def agenerate(self, sources: Union[Source, Sequence[Source]], **options: Any) -> list:
        """As ``generate``: all coroutines share one running batch. Cancelling one removes its
        sources and disturbs no other."""
        waiting, single = self._add({"sources": sources, **options})
        results = await self._waits.results(waiting)
        return results[0] if single else results

    def stream(self, source: Source, **options: Any) -> Iterator[Piece]:
        """Generates one text and yields it piece by piece, as soon as characters are certain.

        Takes a source or a prompt, and the options of ``generate``. Pieces joined are the text of its
        best hypothesis; with beams a piece comes when all that may still win agree on it. Of several
        samples every piece says which one goes on. The last piece has the whole result. Leaving the
        loop ends the generation.
        """
        return pieces(self._core, self._follow(source, options))

    def astream(self, source: Source, **options: Any) -> AsyncIterator[Piece]:
        """As ``stream``, for ``async for``."""
        return self._waits.pieces(self._follow(source, options))

    # --- conversations ------------------------------------------------------------------------

    def chat_prompt(self, messages: Messages, *, tools: Optional[Sequence] = None,
                    documents: Optional[Sequence] = None, template: str = "",
                    add_generation_prompt: bool = True,
                    variables: Optional[Mapping[str, Any]] = None) -> str:
        """The prompt that the model's chat template makes of a conversation.

        Args:
            messages: dicts with "role", "content" and what else the template reads, such as
                "tool_calls".
            tools: descriptions of functions, as the template reads them.
            documents: texts to refer to, as the template reads them.
            template: one of ``chat_templates``; by default "tool_use" for a conversation with tools
                where there is one, else "default".
            add_generation_prompt: whether the prompt ends where an answer begins.
            variables: other variables of the template by name, for example
                {"enable_thinking": False}.

        Raises:
            InvalidArgument: the template refuses the conversation; the message is its own.
            Unsupported: the model has no chat template.
        """
        given = _variables(tools, documents, variables)
        given["add_generation_prompt"] = arguments.flag("add_generation_prompt",
                                                        add_generation_prompt)
        return self._core.chat_prompt(arguments.conversation("conversation", messages, given),
                                      _template(template))

    def chat(self, messages: Union[Messages, Sequence[Messages]], *,
             tools: Optional[Sequence] = None, documents: Optional[Sequence] = None,
             template: str = "", variables: Optional[Mapping[str, Any]] = None,
             **options: Any) -> list:
        """Answers a conversation, or several, with a decoder-only model.

        Args:
            messages: a conversation as for ``chat_prompt``, or a list of such. The next turn begins
                with these messages and the answer, {"role": "assistant", "content": text}: what it
                has in common with this one is not computed again.
            tools: as for ``chat_prompt``.
            documents: as for ``chat_prompt``.
            template: as for ``chat_prompt``.
            variables: as for ``chat_prompt``.
            options: those of ``generate``. Without ``max_length`` an answer has as many tokens as
                the model has positions for, and at most 1024.

        Returns:
            For a conversation a list of Hypothesis, best first, whose texts are answers; for a list
            of conversations a list with such a list for each, in their order.
        """
        return _results(*self._converse(messages, tools, documents, template, variables, options))

    async def achat(self, messages: Union[Messages, Sequence[Messages]], **options: Any) -> list:
        """As ``chat``: all coroutines share one running batch."""
        waiting, single = self._converse_as(messages, options)
        results = await self._waits.results(waiting)
        return results[0] if single else results

    def stream_chat(self, messages: Messages, **options: Any) -> Iterator[Piece]:
        """Answers one conversation piece by piece: ``chat`` as ``stream`` has it."""
        return pieces(self._core, self._follow_chat(messages, options))

    def astream_chat(self, messages: Messages, **options: Any) -> AsyncIterator[Piece]:
        """As ``stream_chat``, for ``async for``."""
        return self._waits.pieces(self._follow_chat(messages, options))

    # --- scores -------------------------------------------------------------------------------

    def score(self, sources: Union[Source, Sequence[Source]],
              targets: Union[Source, Sequence[Source], None] = None, *,
              stride: Optional[int] = None, add_end: bool = True,
              source_language: Union[str, Sequence[str], None] = None,
              target_language: Union[str, Sequence[str], None] = None,
              truncate: bool = False) -> Union[Score, list]:
        """The log-probabilities of given targets, or of texts alone.

        With a decoder-only model a target continues its prompt, and texts may be given alone: each
        token is scored after those before it, the first one only where the model has a start.

        Args:
            sources: a source, a prompt, or without targets a text to score: a text or token ids, or
                a list of such.
            targets: as many texts or token ids.
            stride: of texts alone: one of more tokens than the model has positions is scored in
                windows that begin so many tokens apart, each token in the first window that has it;
                by default half of the positions.
            add_end: whether the model's end is added to a target that lacks it.
            source_language: as for ``generate``.
            target_language: as for ``generate``; its token is not scored, unless the target begins
                with one.
            truncate: cut sources that are longer than the model's positions.

        Returns:
            A Score, or a list of them for a list of sources.
        """
        single = arguments.is_single(sources)
        given = arguments.sources("sources", [sources] if single else sources)
        ends = arguments.flag("add_end", add_end)
        cut = arguments.flag("truncate", truncate)
        step = 0 if stride is None else arguments.whole("stride", stride, 1, 2**31 - 1)
        if targets is None:
            for name, isset in (("add_end", not ends), ("truncate", cut),
                                ("source_language", source_language is not None),
                                ("target_language", target_language is not None)):
                if isset:
                    raise InvalidArgument(f"{name} is given without targets, to which it belongs")
            rows = self._core.score_texts(given, step)
        else:
            if stride is not None:
                raise InvalidArgument("stride and targets are both given, expected one of them: "
                                      "texts alone are scored in windows")
            wanted = arguments.sources("targets",
                                       arguments.beside("targets", targets, single, len(given)))
            spoken = arguments.languages(source_language, target_language, len(given))
            rows = self._core.score(given, wanted, spoken, cut, ends)
        scores = [Score(float(each.sum(dtype=np.float64)), each) for each in rows]
        return scores[0] if single else scores

    async def ascore(self, sources: Union[Source, Sequence[Source]], *given: Any,
                     **options: Any) -> Union[Score, list]:
        """As ``score``, in a thread, so that other coroutines go on."""
        return await in_thread(self.score, sources, *given, **options)

    # --- requests -----------------------------------------------------------------------------

    def _follow(self, source: Source, options: dict) -> _core.Waiting:
        if not arguments.is_single(source):
            raise WrongType(f"source is {type(source).__name__}, expected one text or its token ids: "
                            "a stream is one text")
        if options.get("stop") is not None and options.get("prefix") is not None:
            raise InvalidArgument("stop and prefix are both given, expected one of them in a stream")
        return self._add({"sources": source, **options}, follows=True)[0]

    def _follow_chat(self, messages: Messages, options: dict) -> _core.Waiting:
        if not arguments.is_conversation(messages):
            raise WrongType("messages is a list of conversations, expected one: a stream is one text")
        return self._converse_as(messages, options, follows=True)[0]

    def _converse_as(self, messages: Any, options: dict, follows: bool = False) -> tuple:
        rest = dict(options)
        named = [rest.pop(name, default) for name, default in
                 (("tools", None), ("documents", None), ("template", ""), ("variables", None))]
        return self._converse(messages, *named, rest, follows)

    def _converse(self, messages: Any, tools: Any, documents: Any, template: Any, variables: Any,
                  options: dict, follows: bool = False) -> tuple:
        single = arguments.is_conversation(messages)
        given = _variables(tools, documents, variables)
        listed = [arguments.conversation(f"conversation {i}", each, given)
                  for i, each in enumerate([messages] if single else messages, 1)]
        for name in ("prefix", "truncate"):
            if options.get(name) is not None and options.get(name) is not False:
                raise InvalidArgument(f"{name} is given for a conversation, expected none: its prompt "
                                      "is what the template writes")
        waiting, _ = self._add({"sources": listed, **options}, follows, _template(template))
        return waiting, single

    def _add(self, given: dict, follows: bool = False, template: Optional[str] = None) -> tuple:
        """Puts sources into the running batch; the request, and whether there was one source."""
        given.pop("self", None)
        sources = given.pop("sources")
        if unknown := set(given) - _OPTIONS:
            raise WrongType(f"unknown option {sorted(unknown)[0]!r}, expected one of "
                            f"{', '.join(sorted(_OPTIONS))}")
        single = arguments.is_single(sources)
        list_of = arguments.sources("sources", [sources] if single else sources)
        count = len(list_of)
        prefixes = arguments.beside("prefix", given.pop("prefix", None), single, count)
        shortlists = arguments.beside("shortlist", given.pop("shortlist", None), single, count)
        truncate = arguments.flag("truncate", given.pop("truncate", False))
        commands: list = []
        if isinstance(given.get("command"), (list, tuple, np.ndarray)):
            commands = arguments.ids("command", arguments.beside(
                "command", given.pop("command"), False, count)).tolist()
        spoken = arguments.languages(given.pop("source_language", None),
                                     given.pop("target_language", None), count)
        options = arguments.search_options(given)
        arguments.check_sampling(given, self._core.samples(options))
        options.events = follows
        return self._core.add(
            list_of, [arguments.source(f"prefix {i}", each) for i, each in enumerate(prefixes, 1)],
            [arguments.ids(f"shortlist {i}", each) for i, each in enumerate(shortlists, 1)],
            commands, spoken, options, truncate, template), single


# The keywords of generate().
_OPTIONS = set(Generation.generate.__kwdefaults__)


def _results(waiting: _core.Waiting, single: bool) -> list:
    try:
        waiting.wait()
        results = hypotheses_of(waiting)
    finally:
        # After Ctrl-C the traceback would keep the request in the batch.
        waiting.cancel()
    return results[0] if single else results


def _template(name: Any) -> str:
    if not isinstance(name, str):
        raise WrongType(f"template is {name!r}, expected str")
    return name


def _variables(tools: Any, documents: Any, others: Any) -> dict:
    """The variables of a template besides the messages."""
    if others is not None and not (isinstance(others, Mapping)
                                   and all(isinstance(key, str) for key in others)):
        raise WrongType(f"variables is {others!r}, expected a dict with str as keys")
    given = dict(others or {})
    if "messages" in given:
        raise InvalidArgument("variables has 'messages', expected other variables")
    for name, value in (("tools", tools), ("documents", documents)):
        if value is not None:
            if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Sequence):
                raise WrongType(f"{name} is {type(value).__name__}, expected a list")
            given[name] = list(value)
    return given
