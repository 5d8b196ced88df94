# SPDX-License-Identifier: Apache-2.0
"""What is found out about models: profiles, analyses of attention, reports of the compiler. Each has rows
for pandas.DataFrame(), and is drawn by a notebook."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from html import escape
from typing import Any, Optional, Union

import numpy as np

from ._errors import InvalidArgument

Path = Union[str, "os.PathLike[str]"]


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))


def _table(caption: str, rows: list, columns: tuple) -> str:
    """A table in HTML, of some columns of rows."""
    head = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join("<tr>" + "".join(f"<td>{_cell(row.get(each))}</td>" for each in columns) + "</tr>"
                   for row in rows)
    return (f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>")


@dataclass(frozen=True)
class ProfiledWork:
    """One piece of work of a profile.

    Attributes:
        work: what ran, for example "8x64" or "3 texts".
        tokens: the tokens that a run reads or generates.
        runs: how many runs were measured.
        ms: the median of their wall times, in milliseconds.
        least_ms: the shortest.
        most_ms: the longest.
        outside_ms: time outside of all dispatches.
        disturbed: whether other work on the machine made the measurement doubtful.
        dispatches: a dict for each row, those that took longest first, as ``heddle profile --json``
            has them (docs/report.md).
    """

    work: str
    tokens: int
    runs: int
    ms: float
    least_ms: float
    most_ms: float
    outside_ms: float
    disturbed: bool
    dispatches: list = field(repr=False)


@dataclass(frozen=True)
class Profile:
    """Where the time of a model goes, made by ``Model.profile``.

    Attributes:
        works: the ProfiledWork of each shape, case, and of the texts.
        isa: the target that ran.
        threads: threads that computed.
        peak_gflops: 10^9 operations a second that the machine does at best.
        bandwidth_gb_per_s: 10^9 bytes a second that it reads from memory at best.
        details: everything that ``heddle profile --json`` prints.
    """

    works: list
    isa: str
    threads: int
    peak_gflops: Optional[float]
    bandwidth_gb_per_s: Optional[float]
    details: dict = field(repr=False)

    def rows(self) -> list:
        """A dict for each row of each work, with its "work": ``pandas.DataFrame(profile.rows())``."""
        return [{"work": work.work, **row} for work in self.works for row in work.dispatches]

    def _repr_html_(self) -> str:
        columns = ("share", "ms", "calls", "gflops", "gb_per_s", "fraction_of_roof", "bound", "entry",
                   "kernel", "name")
        return "".join(_table(f"{work.work}: {work.ms:.4g} ms a run, {work.tokens} tokens",
                              work.dispatches, columns) for work in self.works)


def profile_of(described: dict) -> Profile:
    """The words of ``heddle profile --json``, as an object."""
    works = [ProfiledWork(dispatches=each["rows"], **{name: each[name] for name in (
        "work", "tokens", "runs", "ms", "least_ms", "most_ms", "outside_ms", "disturbed")})
        for each in described["works"]]
    return Profile(works, described["isa"], described["threads"], described["peak_gflops"],
                   described["bandwidth_gb_per_s"], described)


@dataclass(frozen=True)
class AttentionKind:
    """How alike the attentions of one kind are.

    Attributes:
        kind: "encoder", "decoder" or "cross".
        layers: their names in the model.
        positions: how many rows were compared.
        similarity: float64 [layers, layers]: 1 for equal attention, 0 for nothing in common (1 less the
            Jensen-Shannon divergence in bits).
        policy: the sizes of blocks of layers that may share; None unless ``theta`` was given.
    """

    kind: str
    layers: tuple
    positions: int
    similarity: np.ndarray = field(repr=False, compare=False)
    policy: Optional[tuple] = None


@dataclass(frozen=True)
class Analysis:
    """How alike layers attend, made by ``Model.analyze``; a notebook draws it as a heat map.

    Attributes:
        kinds: an AttentionKind for each kind of attention.
        sentences: how many texts were read.
        positions: the tokens of texts, and of what was generated.
        theta: the similarity above which layers share; None: no policy was asked for.
        share_attention: the policy, as ``heddle.compile(share_attention=...)`` takes it.
        svg: the heat map.
        text: the file of ``heddle analyze``.
    """

    kinds: list
    sentences: int
    positions: int
    theta: Optional[float]
    share_attention: Optional[str]
    svg: str = field(repr=False)
    text: str = field(repr=False)

    def rows(self) -> list:
        """A dict for each pair of layers of a kind: "kind", "layer", "other", "similarity"."""
        return [{"kind": kind.kind, "layer": kind.layers[row], "other": kind.layers[column],
                 "similarity": float(kind.similarity[row, column])}
                for kind in self.kinds for row in range(len(kind.layers)) for column in range(row)]

    def save(self, path: Path) -> str:
        """Writes the file that ``heddle.compile(analysis=...)`` shows in its report. Returns the path."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text)
        return os.fspath(path)

    def _repr_html_(self) -> str:
        return self.svg


def analysis_of(text: str, svg: str) -> Analysis:
    """The file of ``heddle analyze``, as an object."""
    described = json.loads(text)
    kinds = [AttentionKind(each["kind"], tuple(each["layers"]), each["positions"],
                           np.array(each["similarity"], np.float64).reshape(2 * [len(each["layers"])]),
                           None if each["policy"] is None else tuple(each["policy"]))
             for each in described["kinds"]]
    return Analysis(kinds, described["sentences"], described["positions"], described["theta"],
                    described["share_attention"], svg, text)


@dataclass(frozen=True)
class Alignment:
    """What one attention makes of a text, word by word; a notebook draws it.

    Attributes:
        name: the attention's name in the model.
        rows: the words that attend.
        columns: the words that are attended to.
        weights: float32 [rows, columns], the mean of its heads.
        svg: the drawing.
    """

    name: str
    rows: list
    columns: list
    weights: np.ndarray = field(repr=False, compare=False)
    svg: str = field(repr=False)

    def _repr_html_(self) -> str:
        return self.svg


class Report(list):
    """What the compiler's passes found: a list with a dict for each candidate, taken or not, and why, as
    docs/report.md describes them. Made by ``heddle.explain``, ``ModelBuilder.report`` and
    ``Report.read``; a notebook shows it as tables.
    """

    @classmethod
    def read(cls, path: Path) -> "Report":
        """Reads what ``heddle.compile(report="FILE.json")`` wrote."""
        found, problem = None, "other JSON"
        with open(path, encoding="utf-8") as file:
            try:
                found = json.load(file)
            except ValueError as error:
                problem = f"no JSON, {error}"
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise InvalidArgument(f"{os.fspath(path)}: {problem}, expected a report, which "
                                  'heddle.compile(report="FILE.json") writes')
        return cls(found)

    @property
    def taken(self) -> list:
        """The candidates that passes took."""
        return [each for each in self._decisions() if each["taken"]]

    @property
    def declined(self) -> list:
        """Those that they left alone: "reason" is the first condition that failed."""
        return [each for each in self._decisions() if not each["taken"]]

    @property
    def gains(self) -> list:
        """The predicted gain of each entry."""
        return [each for each in self if each["pass"] == "predicted-gain"]

    def rows(self) -> list:
        """A dict for each candidate: "pass", "where", "taken", "what" was done or the "reason" why nothing
        was, and what it saves."""
        return [{**{name: each.get(name) for name in ("pass", "where", "taken", "what", "reason")},
                 **each.get("savings", {})} for each in self._decisions()]

    def _decisions(self) -> list:
        return [each for each in self if each["pass"] != "predicted-gain"]

    def _repr_html_(self) -> str:
        gains = "".join(f"<p>{escape(each['where'])}: {escape(each.get('what') or each['reason'])}</p>"
                        for each in self.gains)
        declined = _table(f"{len(self.declined)} declined", self.declined, ("pass", "where", "reason"))
        return (gains + _table(f"{len(self.taken)} taken", self.taken, ("pass", "where", "what"))
                + f"<details><summary>{len(self.declined)} declined</summary>{declined}</details>")
