import pytest
from pydantic import ValidationError

from service_defaults.settings import ServiceSettings, SettingsError, read_settings


def read(*flags: str) -> ServiceSettings:
    return read_settings(ServiceSettings, "demo", flags)


def test_flags_override_the_environment_and_the_environment_the_defaults(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PORT", "5001")
    monkeypatch.setenv("LISTEN_HOST", "127.0.0.2")

    settings = read("--port", "5002")

    assert (settings.listen_host, settings.port) == ("127.0.0.2", 5002)


def test_a_host_that_the_shell_exports_opens_nothing_to_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")  # noqa: S104 - what must have no effect

    assert read().listen_host == "127.0.0.1"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        read().port = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "x"), ("PORT", "-1"), ("PORT", "65536"), ("LOG_LEVEL", "loud"), ("SHUTDOWN_S", "")],
)
def test_a_wrong_value_is_one_line_that_names_the_variable_and_the_value(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError, match=f"^{name}='{value}': .+$") as raised:
        read()

    assert "\n" not in str(raised.value)
