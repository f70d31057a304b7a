"""Installed packages laid out alone, in a folder of links to where they are."""

from collections.abc import Iterable
from importlib.metadata import Distribution, packages_distributions
from pathlib import Path


def link_packages(packages: Iterable[Distribution], folder: Path) -> None:
    """Fill *folder* with what these packages installed, programs left out."""
    owners = packages_distributions().items()
    shared = frozenset(name for name, their in owners if len(set(their)) > 1)
    for package in packages:
        _link(package, folder, shared)


def _link(package: Distribution, folder: Path, shared: frozenset[str]) -> None:
    for file in package.files or ():
        top = file.parts[0]
        link = file if top in shared else Path(top)
        if top not in {"..", "__pycache__"} and not (folder / link).exists():
            (folder / link).parent.mkdir(parents=True, exist_ok=True)
            (folder / link).symlink_to(str(package.locate_file(link)))
