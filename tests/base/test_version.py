"""The version is stated once: the installed distribution has the version of the package."""

from __future__ import annotations

from importlib.metadata import version

from dpbench.base.version import __version__


def test_the_distribution_has_the_version_of_the_package() -> None:
    assert version("dp-regression-bench") == __version__
