"""docker-compose.yml follows the Compose specification and says nothing that the code has not."""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from service_defaults.settings import ServiceSettings
from tests.deploy.compose_file import COMPOSE_FILE, ROOT, Service, read_services
from tests.deploy.dockerfile import last_stage

SERVICES = read_services()
each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
each_python_service = pytest.mark.parametrize(
    "service", [each for each in SERVICES.values() if each.module], ids=lambda each: each.module
)


def check_against_specification(path: Path) -> subprocess.CompletedProcess[str]:
    """Hold *path* against the JSON schema of the Compose specification."""
    return subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", path],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_the_file_follows_the_compose_specification() -> None:
    checked = check_against_specification(COMPOSE_FILE)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("read_only:", "readonly:"),
        ("condition: service_healthy", "condition: service_well"),
        ("cap_drop: [ALL]", "cap_drop: ALL"),
    ],
)
def test_the_specification_sees_a_slip(right: str, wrong: str, tmp_path: Path) -> None:
    text = COMPOSE_FILE.read_text(encoding="utf-8")
    assert right in text
    changed = tmp_path / COMPOSE_FILE.name
    changed.write_text(text.replace(right, wrong), encoding="utf-8")
    assert check_against_specification(changed).returncode == 1


def test_the_services_are_those_of_the_lab_and_of_its_load() -> None:
    assert list(SERVICES) == ["redis", "rates", "front", "locust-master", "locust-worker"]


@each_service
def test_a_container_gets_no_right_that_it_does_not_need(service: Service) -> None:
    assert service.rules["read_only"] is True
    assert service.rules["cap_drop"] == ["ALL"]
    assert service.rules["security_opt"] == ["no-new-privileges:true"]
    assert service.rules["restart"] == "unless-stopped"
    assert not {"privileged", "cap_add", "volumes", "network_mode", "pid"} & set(service.rules)
    users = [each.rest for each in last_stage() if each.keyword == "USER"]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service.rules.get("user", users[-1]))


@each_service
def test_an_image_is_the_projects_own_or_pinned_to_a_version(service: Service) -> None:
    if "image" in service.rules:
        assert re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+-[a-z]+", service.rules["image"])
    else:
        assert service.rules["build"] == "."


@each_service
def test_ports_are_published_to_this_machine_only_and_are_bound(service: Service) -> None:
    for published in service.published:
        address, _, port = published.split(":")
        assert address == "127.0.0.1"
        assert int(port) in service.binds


def test_no_two_services_publish_the_same_port() -> None:
    ports = [each.split(":")[1] for service in SERVICES.values() for each in service.published]
    assert len(ports) == len(set(ports))


@each_service
def test_a_service_waits_until_what_it_calls_is_healthy(service: Service) -> None:
    for needed, condition in service.needs.items():
        assert condition == "service_healthy"
        assert SERVICES[needed].health_check
    # Locust reaches the faults of rates through a page that a person opens later.
    through_others = {name for needed in service.needs for name in SERVICES[needed].needs}
    assert {name for name, _ in addresses(service)} <= set(service.needs) | through_others


@each_service
def test_an_address_of_another_service_has_a_port_that_it_binds(service: Service) -> None:
    for name, port in addresses(service):
        assert port in SERVICES[name].binds


@each_service
def test_a_published_service_has_a_health_check_on_a_port_that_it_binds(service: Service) -> None:
    assert service.health_check or not service.published
    asked = re.findall(r'(?:"127\.0\.0\.1", |-p )(\d+)', " ".join(service.health_check))
    assert bool(asked) == bool(service.health_check)
    assert {int(port) for port in asked} <= set(service.binds)


@each_python_service
def test_each_variable_is_a_setting_of_its_service(service: Service) -> None:
    assert {name.lower() for name in service.environment} <= settings_of(service)


@pytest.mark.parametrize("name", ["locust-master", "locust-worker"])
def test_each_variable_of_locust_is_read_by_the_locust_file(name: str) -> None:
    service = SERVICES[name]
    pages = (ROOT / "lab" / "up" / "locust_pages").rglob("*.py")
    sources = [path.read_text(encoding="utf-8") for path in pages]
    unread = [name for name in service.environment if not any(name in each for each in sources)]
    assert unread == []
    assert (ROOT / option(service, "--locustfile")).is_file()


def test_workers_can_be_many() -> None:
    worker = SERVICES["locust-worker"]
    assert not worker.published
    assert "container_name" not in worker.rules
    assert option(worker, "--master-host") == "locust-master"
    assert int(option(worker, "--master-port")) in SERVICES["locust-master"].binds


def addresses(service: Service) -> Iterator[tuple[str, int]]:
    """Yield each `service:port` in the program and the variables."""
    names = "|".join(map(re.escape, SERVICES))
    for text in (*service.program, *service.environment.values()):
        for name, port in re.findall(rf"//({names}):(\d+)", text):
            yield name, int(port)


def option(service: Service, flag: str) -> str:
    """Return the value after *flag*."""
    return service.program[service.program.index(flag) + 1]


def settings_of(service: Service) -> set[str]:
    """Return the names of the fields of the service's settings."""
    found = [
        each
        for each in vars(_module_of_settings(service)).values()
        if isinstance(each, type)
        and issubclass(each, ServiceSettings)
        and each is not ServiceSettings
    ]
    assert len(found) == 1
    return set(found[0].model_fields)


def _module_of_settings(service: Service) -> ModuleType:
    """Return the module with a service's settings: their own, or that of its application."""
    name = "settings" if find_spec(f"{service.module}.settings") else "app"
    return import_module(f"{service.module}.{name}")
