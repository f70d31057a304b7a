"""The commands of docker-compose.yml, run for real with what the image holds and no more."""

import time
from collections.abc import Iterator

import httpx
import pytest

from tests.deploy.compose_file import read_services
from tests.deploy.deployment import Deployment
from tests.deploy.image import lay_out

pytestmark = pytest.mark.integration

SERVICES = read_services()
WORKERS = 2


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Bring everything up as the file says: each service once those that it needs are well."""
    image = lay_out(tmp_path_factory.mktemp("image"))
    running = Deployment(services=SERVICES, image=image, logs=tmp_path_factory.mktemp("logs"))
    try:
        for name, service in SERVICES.items():
            for needed in service.needs:
                running.await_health(needed)
            assert not service.health_check or not running.is_healthy(name), "nothing runs yet"
            for copy in range(1, WORKERS + 1 if name == "locust-worker" else 2):
                running.start(name, copy)
        yield running
    finally:
        running.kill()


@pytest.fixture
def front(deployment: Deployment) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=deployment.url("front", 8000), timeout=5) as client:
        yield client


def test_the_file_lists_each_service_below_those_that_it_needs() -> None:
    names = list(SERVICES)
    for at, service in enumerate(SERVICES.values()):
        assert set(service.needs) <= set(names[:at])


def test_the_converter_answers_from_the_rates_service(front: httpx.Client) -> None:
    answer = front.get("/convert", params={"from": "USD", "amount": "100"}).raise_for_status()
    assert answer.json()["source"] == "fresh"


def test_locust_may_make_rates_sick_and_others_may_not(
    deployment: Deployment, front: httpx.Client
) -> None:
    chaos = deployment.url("rates", 8000) + "/chaos"
    token = SERVICES["locust-master"].environment["LAB_CHAOS_TOKEN"]
    fault = {"failure": 1, "ttlS": 5}
    assert httpx.post(chaos, json=fault).status_code == 401

    pass_on = {"Authorization": f"Bearer {token}"}
    httpx.post(chaos, json=fault, headers=pass_on).raise_for_status()
    answer = front.get("/convert", params={"from": "USD", "amount": "100"})
    httpx.delete(chaos, headers=pass_on).raise_for_status()
    assert answer.json()["source"] == "stale"


def test_each_further_worker_reports_to_the_master(deployment: Deployment) -> None:
    deployment.await_line("locust-master", rf"\b{WORKERS} workers connected")


def test_locust_shows_nothing_before_the_password(deployment: Deployment) -> None:
    with httpx.Client(base_url=deployment.url("locust-master", 8089), timeout=5) as stranger:
        assert stranger.get("/").headers["Location"].startswith("/login")
        assert stranger.post("/swarm", data={"user_count": "1"}).status_code != 200


def test_load_started_in_the_web_ui_is_sent_by_the_workers(deployment: Deployment) -> None:
    deployment.await_line("locust-master", rf"\b{WORKERS} workers connected")
    password = SERVICES["locust-master"].environment["LOCUST_WEB_PASSWORD"]
    with httpx.Client(base_url=deployment.url("locust-master", 8089), timeout=5) as person:
        person.post("/login/check", data={"username": "me", "password": password})
        swarm = person.post("/swarm", data={"user_count": str(WORKERS), "spawn_rate": "10"})
        assert swarm.json()["success"] is True
        at_work = await_work(person)
        person.post("/stop").raise_for_status()
    assert at_work == [1] * WORKERS


def await_work(person: httpx.Client) -> list[int]:
    """Return the number of users on each worker once there are replies."""
    deadline = time.monotonic() + 15
    while True:
        told = person.get("/stats/requests").raise_for_status().json()
        users = [each["user_count"] for each in told["workers"]]
        if sum(users) == WORKERS and any("-> fresh" in row["name"] for row in told["stats"]):
            return users
        assert time.monotonic() < deadline, told
        time.sleep(0.2)


def test_nothing_writes_outside_of_tmp_and_a_stop_is_no_failure(deployment: Deployment) -> None:
    codes = deployment.stop()
    assert set(codes.values()) == {0}, codes
    assert deployment.image.written() == set()
