from types import ModuleType

import pytest

import chaos
import front
import rates_api


@pytest.mark.parametrize("package", [chaos, front, rates_api])
def test_what_a_package_exports_exists_and_is_sorted(package: ModuleType) -> None:
    exported = package.__all__

    assert exported == sorted(exported)
    assert all(hasattr(package, name) for name in exported)
