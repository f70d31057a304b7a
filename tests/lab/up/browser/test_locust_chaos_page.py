"""A person with a browser: starts a load, makes the rates service sick, and sees what it does."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.lab.up.locust_process import RunningLocust, ask, locust
from tests.service_process import Running, service
from tests.valkey import Valkey, valkey

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

PATIENCE_MS = 12_000


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[Valkey]:
    with valkey(tmp_path) as running:
        yield running


@pytest.fixture
def rates() -> Iterator[Running]:
    with service("rates_api", CHAOS_ENABLED="true") as running:
        yield running


@pytest.fixture
def lab(rates: Running, redis: Valkey, tmp_path: Path) -> Iterator[RunningLocust]:
    urls = json.dumps({"rates": f"{rates.url}/chaos"})
    with (
        service("front", RATES_URL=rates.url, REDIS_URL=redis.url, BREAK_S="0.5") as front,
        locust(tmp_path, "--host", front.url, LAB_CHAOS_URLS=urls) as running,
    ):
        yield running


@pytest.fixture
def page(browser_path: str) -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        yield page
        browser.close()


def figure_rises(page: Page, name: str) -> None:
    page.wait_for_function(
        "name => Number(document.querySelector(`[data-figure=${name}]`).textContent) > 0", arg=name
    )


def line_rises(page: Page, name: str) -> None:
    """Wait until the chart's line of *name* leaves the ground."""
    page.wait_for_function(
        """name => [...document.querySelectorAll(`#outcomes polyline.${name}`)].some((line) => {
             const heights = [...line.points].map((point) => point.y);
             return Math.max(...heights) - Math.min(...heights) > 5;
        })""",
        arg=name,
    )


def test_the_chart_answers_to_a_fault_that_a_person_switches_on_and_off_under_load(
    page: Page, lab: RunningLocust, rates: Running, redis: Valkey
) -> None:
    asked, troubles = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: troubles.append(str(error)))

    page.goto(lab.url)
    page.get_by_label("Number of users").fill("6")
    page.get_by_label("Ramp up").fill("6")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Chaos page").click()
    expect(page.locator("#load")).to_have_text("running, 6 users", timeout=PATIENCE_MS)
    line_rises(page, "fresh")
    expect(page.locator("#breaker")).to_have_text("closed")
    expect(page.locator("rect.fault")).to_have_count(0)

    page.get_by_label("Share of replies that fail").focus()
    page.keyboard.press("End")
    switch = page.get_by_role("switch", name="Fault of rates")
    switch.focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("100 % replies 500: on for")).to_be_visible()
    expect(page.locator("#outcomes rect.fault")).to_have_count(1)
    expect(page.locator("#latency rect.fault")).to_have_count(1)
    assert ask("GET", f"{rates.url}/chaos").json()["failure"] == 1
    line_rises(page, "stale")
    expect(page.locator("#breaker")).to_have_text("open", timeout=PATIENCE_MS)
    redis.stop()
    line_rises(page, "error")

    switch.press("Space")
    expect(switch).not_to_be_checked()
    assert ask("GET", f"{rates.url}/chaos").json()["on"] is False
    expect(page.locator("#breaker")).to_have_text("closed", timeout=PATIENCE_MS)
    figure_rises(page, "fresh")
    expect(page.locator("#windows li")).to_contain_text("rates: 100 % replies 500")
    expect(page.locator("#windows li")).to_contain_text("for")

    assert troubles == []
    assert {url for url in asked if not url.startswith((lab.url, "data:", "blob:"))} == set()


def test_a_slider_shows_a_share_as_it_is_and_moving_another_leaves_it_alone(
    page: Page, lab: RunningLocust, rates: Running
) -> None:
    fault = {"failure": 0.00002, "delayMs": 7, "ttlS": 60}
    assert ask("POST", f"{rates.url}/chaos", json=fault).status_code == 200

    page.goto(f"{lab.url}/chaos")
    shares = page.locator(".control", has=page.get_by_label("Share of replies that fail"))
    expect(shares.locator("output")).to_have_text("<0.01 %", timeout=PATIENCE_MS)
    page.get_by_label("Delay varies by").press("ArrowRight")
    expect(page.get_by_text("±50 ms jitter: on for")).to_be_visible()

    document = ask("GET", f"{rates.url}/chaos").json()
    assert (document["failure"], document["delayMs"], document["jitterMs"]) == (0.00002, 7, 50)
