import pytest

from lab.templates import fill, placeholders


def test_placeholders_are_found_in_order_and_other_braces_are_text() -> None:
    template = '{python} -m x {rates.url} {"a": 1} {} { b } {my-service.port}'

    assert placeholders(template) == ("python", "rates.url", "my-service.port")


def test_filling_replaces_each_placeholder_and_nothing_else() -> None:
    filled = fill('{front.url}/a {"b": {port}}', {"front.url": "http://h:1", "port": "{python}"})

    assert filled == 'http://h:1/a {"b": {python}}'


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError, match="port"):
        fill("{port}", {})
