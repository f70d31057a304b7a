import pytest

from front.settings import FrontSettings
from resilience import BreakerSettings, Policies, RetrySettings
from service_defaults.settings import SettingsError, read_settings
from tests.service_process import start


def read() -> FrontSettings:
    return read_settings(FrontSettings, "front", [])


def test_the_policies_are_those_of_the_contract_unless_told_otherwise() -> None:
    resilient, raw, health = read().sources()

    assert resilient.policies == Policies(
        total_timeout_s=1.0,
        retry=RetrySettings(max_retries=2, base_delay_s=0.05),
        breaker=BreakerSettings(
            failure_ratio=0.5,
            minimum_throughput=10,
            sampling_s=5.0,
            break_s=5.0,
            counts_429=True,
        ),
        attempt_timeout_s=0.3,
    )
    assert raw.policies == Policies(total_timeout_s=10.0)
    assert health.policies is None


def test_off_leaves_a_policy_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOTAL_TIMEOUT_S", "FAILURE_RATIO", "ATTEMPT_TIMEOUT_S", "RAW_TIMEOUT_S"):
        monkeypatch.setenv(name, "off")
    monkeypatch.setenv("RETRIES", "0")

    assert [source.policies for source in read().sources()] == [Policies(), Policies(), None]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("ATTEMPT_TIMEOUT_S", "2", "attempt_timeout_s must be at most total_timeout_s"),
        ("ATTEMPT_TIMEOUT_S", "0.3s", "ATTEMPT_TIMEOUT_S='0.3s': "),
        ("TOTAL_TIMEOUT_S", "nan", "TOTAL_TIMEOUT_S='nan': "),
        ("FAILURE_RATIO", "50", "failure_ratio must be"),
        ("RETRIES", "-1", "RETRIES='-1': "),
        ("RATES_URL", "localhost:5401", "base_url must be an absolute"),
        ("REDIS_URL", "http://localhost", "Redis URL"),
    ],
)
def test_a_wrong_policy_is_one_line(
    name: str, value: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)

    with pytest.raises(SettingsError) as raised:
        read()

    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.integration
def test_a_wrong_policy_ends_the_start_with_exit_code_2() -> None:
    process = start("front", "--port", "0", BREAK_S="0.1")
    _, errors = process.communicate(timeout=20)

    assert process.returncode == 2
    assert errors.startswith("front: ")
    assert errors.count("\n") == 1
    assert "break_s must be" in errors
