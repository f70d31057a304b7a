from types import ModuleType

import pytest

import chaos
import front
import rates_api
import service_defaults


@pytest.mark.parametrize("package", [chaos, front, rates_api, service_defaults])
def test_what_a_package_exports_exists_and_is_sorted(package: ModuleType) -> None:
    exported = package.__all__

    assert exported == sorted(exported)
    assert all(hasattr(package, name) for name in exported)
