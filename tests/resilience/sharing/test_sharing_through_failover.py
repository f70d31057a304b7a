"""Redis' name leads to another server, and the one that it led to still answers, but not well."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.moving_name import Name
from tests.resilience.sharing.processes import IMPATIENT, Process, eventually, exchanged, processes
from tests.service_process import free_port
from tests.valkey import Valkey, valkey

pytestmark = pytest.mark.integration


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Valkey]:
    """Run a second server for one test."""
    folder = tmp_path / "other"
    folder.mkdir()
    with valkey(folder) as running:
        yield running


def demote(old: Valkey, new: Valkey) -> None:
    """Swap the roles of a primary and its replica."""
    with new.client() as promoted, old.client() as demoted:
        promoted.replicaof("NO", "ONE")
        demoted.replicaof("127.0.0.1", new.port)


async def test_after_a_failover_circuits_are_shared_through_the_new_primary(
    server: Valkey, other: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    with other.client() as replica:
        replica.replicaof("127.0.0.1", server.port)
        await eventually(lambda: replica.info("replication")["master_link_status"] == "up")
    name = Name(server)
    with caplog.at_level(logging.INFO, "resilience"):
        async with name.served() as url, processes(url, url, settings=IMPATIENT) as (one, two):
            await exchanged(one, two)
            demote(server, other)
            name.leads_to = other
            one.fail()
            await eventually(lambda: two.state == "open")
            two.close_by_trial()
            await eventually(lambda: one.state == "closed")
    assert any("read only replica" in message for message in caplog.messages)
    assert caplog.messages[-1] == "circuits are shared again: Redis replies"


async def test_a_process_that_only_hears_finds_the_new_primary_when_the_old_is_cut_off(
    server: Valkey, other: Valkey
) -> None:
    name = Name(server)
    async with name.served() as url, processes(url, url, settings=IMPATIENT) as (one, two):
        await exchanged(one, two)
        with server.client() as cut_off:
            cut_off.config_set("replica-serve-stale-data", "no")
            cut_off.replicaof("127.0.0.1", free_port())
        name.leads_to = other
        await exchanged(one, two)
        one.fail()
        await eventually(lambda: two.state == "open")


def read_only(server: Valkey) -> None:
    with server.client() as admin:
        admin.replicaof("127.0.0.1", free_port())


def master_down(server: Valkey) -> None:
    with server.client() as admin:
        admin.config_set("replica-serve-stale-data", "no")
    read_only(server)


def password_set(server: Valkey) -> None:
    with server.client() as admin:
        admin.config_set("requirepass", "secret")
        admin.client_kill_filter(_type="normal", skipme=True)


def loading(server: Valkey) -> None:
    with server.client() as admin:
        admin.mset({f"key:{number}": "x" * 100 for number in range(1000)})
        admin.save()
    server.stop()
    slow = ("--key-load-delay", "100000", "--loading-process-events-interval-bytes", "1024")
    server.flags = slow
    server.start()


def in_a_cluster_that_is_down(server: Valkey) -> None:
    server.stop()
    server.flags = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server.start()


def hanging(server: Valkey) -> None:
    server.hang()


SICK = [master_down, password_set, loading, in_a_cluster_that_is_down, hanging]


@pytest.mark.parametrize("fall_sick", SICK)
async def test_whatever_a_server_answers_instead_the_name_is_looked_up_again(
    server: Valkey,
    other: Valkey,
    fall_sick: Callable[[Valkey], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    name = Name(server)
    async with name.served() as url, processes(url, url, settings=IMPATIENT) as (one, two):
        await exchanged(one, two)
        await asyncio.to_thread(fall_sick, server)  # whose start is waited for
        one.fail()  # there is something to write
        await eventually(lambda: one.alone)
        name.leads_to = other
        await eventually(lambda: two.state == "open")
        assert not one.alone
    assert not any("delete the key" in message for message in caplog.messages)


async def test_a_server_that_only_takes_no_writes_is_parted_with_in_time_by_those_who_read(
    server: Valkey, other: Valkey
) -> None:
    """It answers them well, and what it has may be old."""
    ageing = replace(IMPATIENT, max_connection_age_s=0.5)
    name = Name(server)
    async with name.served() as url, processes(url, url, settings=ageing) as (one, two):
        await exchanged(one, two)
        read_only(server)
        name.leads_to = other
        one.fail()
        await eventually(lambda: two.state == "open")
        assert not two.alone


async def test_a_server_that_recovers_is_shared_through_again(server: Valkey) -> None:
    async with processes(server.url, server.url, settings=IMPATIENT) as (one, two):
        await exchanged(one, two)
        read_only(server)
        one.fail()
        await eventually(lambda: one.alone)
        with server.client() as admin:
            admin.replicaof("NO", "ONE")
        await eventually(lambda: two.state == "open")


async def test_connections_of_others_to_the_same_redis_are_left_alone(server: Valkey) -> None:
    process = Process(server.url, settings=IMPATIENT)
    async with process.redis as redis, redis.pubsub() as listening:
        await listening.subscribe("news")
        assert (await listening.get_message(timeout=5))["type"] == "subscribe"
        async with process.shared.sharing():
            read_only(server)
            process.fail()
            await eventually(lambda: process.alone)
        with server.client() as admin:
            admin.replicaof("NO", "ONE")
            admin.publish("news", "still here")
        message = await listening.get_message(timeout=5)
        assert message["data"] == b"still here"
