from collections.abc import Callable
from typing import Annotated, Literal, Union

import pytest

from resilience._internal.wire.json_bodies import SameForm


@pytest.mark.parametrize(
    ("one", "another"),
    [
        (int | str, str | int),
        (list[int | str], list[str | int]),
        (Union[int, str], Union[str, int]),  # noqa: UP007 - the older form is in use
        (Annotated[int, 1], Annotated[int, True]),
        (Literal[1], Literal[True]),
        (tuple[int, str], tuple[str, int]),
        (tuple[tuple[int, ...]], tuple[*tuple[int, ...]]),
        (dict[str, list[int]], dict[str, int]),
        (list[int], list),
        (int, "int"),
    ],
    ids=str,
)
def test_forms_that_read_otherwise_are_other_keys(one: object, another: object) -> None:
    assert len({SameForm(one), SameForm(another)}) == 2


@pytest.mark.parametrize(
    "form",
    [
        lambda: int,
        lambda: list[int],
        lambda: dict[str, int | None],
        lambda: Annotated[int, "positive"],
        lambda: Literal["a", "b"],
    ],
)
def test_a_form_written_twice_is_one_key(form: Callable[[], object]) -> None:
    assert len({SameForm(form()), SameForm(form())}) == 1


def test_parts_that_cannot_be_hashed_make_a_key_too() -> None:
    form = Annotated[int, ["meta"]]
    assert len({SameForm(form), SameForm(form)}) == 1
