"""Which certificates are trusted, of sources and of proxies."""

import os
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from resilience._internal.wire.connections import Connections, context_for
from tests.resilience.peers import scripted_peer
from tests.resilience.wire.one_source import answer_once, client_of


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody else trusts, and its key, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, signed, both = folder / "key.pem", folder / "signed.pem", folder / "both.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", signed),
            *("-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    both.write_text(key.read_text(encoding="ascii") + signed.read_text(encoding="ascii"))
    return both


def serving_by(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


@pytest.mark.parametrize("told_by", ["ssl_context", "SSL_CERT_FILE", "nobody"])
async def test_a_certificate_is_trusted_by_context_or_environment(
    certificate: Path, told_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=certificate) if told_by == "ssl_context" else None
    if told_by == "SSL_CERT_FILE":
        monkeypatch.setenv("SSL_CERT_FILE", os.fspath(certificate))
    async with (
        scripted_peer(answer_once, tls=serving_by(certificate)) as url,
        client_of(url, ssl_context=context) as client,
    ):
        if told_by == "nobody":
            with pytest.raises(httpx.ConnectError, match="certificate verify failed"):
                await client.get("s", "/")
        else:
            assert (await client.get("s", "/")).text == "ok"


@pytest.mark.parametrize("https", ["https://a", "HTTPS://a"])
def test_one_context_trusts_the_usual_authorities_if_any_url_is_https(https: str) -> None:
    made = context_for(["http://b", https], None)
    assert made.cert_store_stats()["x509_ca"] > 0
    assert context_for(["http://b", https], made) is made
    assert context_for(["http://b"], None).cert_store_stats()["x509"] == 0


async def test_a_proxy_with_tls_is_trusted_by_the_environment_though_no_source_has_tls(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", os.fspath(certificate))
    async with (
        scripted_peer(answer_once, tls=serving_by(certificate)) as proxy,
        client_of("http://api.example.test", proxy=proxy) as client,
    ):
        assert (await client.get("s", "/rates")).text == "ok"


@pytest.mark.parametrize("wrong", [{"proxy": 5}, {"ssl_context": True}])
def test_wire_settings_of_a_wrong_kind_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match=f"^{next(iter(wrong))} has the wrong type"):
        Connections(**wrong)  # type: ignore[arg-type]
