"""The experiment with two sources, as it is shipped, run for real."""

import re
import statistics
from pathlib import Path

import pytest

from tests.lab.small_experiment import LabProcess, rows

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

EXPERIMENT = Path(__file__).parents[2] / "experiments" / "two_sources.yaml"
CHANGES = {"CIRCUIT-OPEN", "HALF-OPEN", "CIRCUIT-CLOSED"}
KIND = re.compile(r"\+ *\d+\.\d{3}s (?P<source>\w+) +(?:#\d{3})? +(?P<kind>[A-Z0-9-]+)")


@pytest.fixture(scope="module")
def latest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run it once, with one run a cell; return what it left."""
    out = tmp_path_factory.mktemp("two")
    lab = LabProcess("run", EXPERIMENT, "--repeats", "1", "--out", out)
    done = lab.finish(timeout_s=150)
    assert done.returncode == 0, done.stdout + done.stderr  # 1 if an expectation failed
    return out / "two_sources" / "latest"


@pytest.fixture(scope="module")
def rounds(latest: Path) -> dict[str, str]:
    """Return what the caller logged of the run of each client."""
    log = (latest / "logs" / "caller.log").read_text(encoding="utf-8")
    _, well, _, ill = re.split(r"^(?=ROUND)", log, flags=re.MULTILINE)[1:]
    return {"weather well": well, "weather ill": ill}


def kinds(round_: str, source: str) -> list[str]:
    return [each["kind"] for each in KIND.finditer(round_) if each["source"] == source]


def figures(round_: str, source: str) -> dict[str, str]:
    rows = round_.split("\nSUMMARY\n")[1].strip().splitlines()
    names, *columns = zip(*(re.split(r" {2,}", row.strip()) for row in rows), strict=True)
    [values] = [column for column in columns if column[0] == source]
    return dict(zip(names, values, strict=True))


def test_one_source_falls_ill_and_the_other_does_not_feel_it(latest: Path) -> None:
    by_client = {row["client"]: row for row in rows(latest / "runs.csv")}
    well, ill = by_client["weather well"], by_client["weather ill"]
    assert well["crypto_ok"] == ill["crypto_ok"] == "50"
    assert well["weather_ok"] == "50"
    assert 15 <= int(ill["weather_ok"]) <= 40
    assert int(ill["weather_rejected"]) > int(ill["weather_failed"])


def test_prices_come_at_the_same_time_whether_the_weather_is_ill_or_not(latest: Path) -> None:
    def median_s(client: str) -> float:
        return statistics.median(
            float(row["finished_s"]) - float(row["sent_s"])
            for row in rows(latest / "requests.csv.gz")
            if (row["client"], row["outcome"]) == (client, "crypto_ok")
        )

    # A pause for a 429 takes 1 s; with prices waiting for forecasts it would be several.
    assert median_s("weather ill") == pytest.approx(median_s("weather well"), abs=1.5)


def test_both_were_under_load_at_the_same_time(latest: Path) -> None:
    for client in ("weather well", "weather ill"):
        ended_s = {
            source: [
                float(row["finished_s"])
                for row in rows(latest / "requests.csv.gz")
                if row["client"] == client and row["outcome"].startswith(source)
            ]
            for source in ("crypto", "weather")
        }
        assert [len(times) for times in ended_s.values()] == [50, 50]
        starts, ends = map(min, ended_s.values()), map(max, ended_s.values())
        assert min(ends) - max(starts) > 5


def test_the_log_tells_what_happened_and_adds_it_up(rounds: dict[str, str]) -> None:
    well, ill = rounds["weather well"], rounds["weather ill"]
    assert "Weather is well" in well.splitlines()[0]
    assert "Weather answers 500 from 1.5 s to 4.5 s" in ill.splitlines()[0]
    assert CHANGES & set(kinds(well, "Weather")) == set()
    changes = [kind for kind in kinds(ill, "Weather") if kind in CHANGES]
    assert changes[:2] == ["CIRCUIT-OPEN", "HALF-OPEN"]
    assert changes[-1] == "CIRCUIT-CLOSED"
    assert {"HTTP-429", "RETRY", "THROTTLED"} <= set(kinds(ill, "CryptoExchange"))
    for round_ in (well, ill):
        crypto, weather = (figures(round_, each) for each in ("CryptoExchange", "Weather"))
        assert (crypto["Requests"], weather["Requests"]) == ("50", "50")
        assert crypto["CB opened"] == "0"
        assert int(weather["CB rejects"]) == kinds(round_, "Weather").count("CB-REJECT")
