# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package: one class for each kind of failure of the C++ interface."""

from __future__ import annotations


class Error(Exception):
    """Any failure of Heddle. The message says what was seen, what was expected, and where.

    Every class below is also the class of Python that fits, so that ``except ValueError`` works.
    """


class InvalidArgument(Error, ValueError):
    """An argument that makes no sense, alone or with others."""


class WrongType(Error, TypeError):
    """An argument of a type that the call does not take."""


class NotFound(Error, LookupError):
    """A name that the model does not have: an entry, an input, an output."""


class DataLoss(Error):
    """A file that is damaged, cut off, or not a compiled model."""


class OutOfRange(Error, ValueError):
    """A number or a length beyond what the model has: token ids, positions."""


class Unsupported(Error, NotImplementedError):
    """Something that this model or this version does not do."""


class ResourceExhausted(Error, MemoryError):
    """Memory has run out, or the cache of generation is too small for a sentence."""


class InputOutput(Error, OSError):
    """A file could not be read."""


class Internal(Error):
    """A mistake of Heddle itself."""


class CompileError(Error):
    """heddlec refused a model; the message is what it printed."""


class CompileWarning(UserWarning):
    """heddlec compiled a model, and warns of something: an unknown key of ``config.json``, a weight
    that is no number.
    """


# By the numbers of heddle/Status.def; a wrong type has none there.
CLASSES = {-1: WrongType, 1: InvalidArgument, 2: NotFound, 3: DataLoss, 4: OutOfRange,
           5: Unsupported, 6: ResourceExhausted, 7: InputOutput, 8: Internal}
