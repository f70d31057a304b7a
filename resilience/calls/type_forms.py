"""Type forms as keys: `A | B` is not `B | A`, and what a form is made of need not be hashable."""

from collections.abc import Iterable
from itertools import chain
from typing import Any, get_args, get_origin

_END = object()


class SameForm:
    """A type form that equals those made of the very same parts in the same order.

    By Python's own equality `A | B` is `B | A`, although the first that fits wins, 1 is True in
    the metadata of `Annotated`, and a list there cannot be a key at all.

    Attributes:
        form: The type form.
    """

    __slots__ = ("_ids", "_parts", "form")

    def __init__(self, form: Any) -> None:  # noqa: ANN401 - any form of type
        self.form = form
        self._parts = tuple(_parts_of(form))  # kept, so that no other object gets their ids
        self._ids = tuple(map(id, self._parts))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameForm) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)


def _parts_of(form: object) -> Iterable[object]:
    arguments = get_args(form)
    if not arguments:
        return (form,)
    inner = chain.from_iterable(map(_parts_of, arguments))
    # *tuple[int] has the parts of tuple[int].
    return (get_origin(form), getattr(form, "__unpacked__", False), *inner, _END)
