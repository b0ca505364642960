"""Finds the packages: ``packages.find`` cannot rename, and an explicit list silently drops a forgotten folder."""

from setuptools import find_packages, setup

setup(packages=find_packages(include=["dpbench*"]) + [f"dpbench.{name}" for name in find_packages(include=["conf*", "plugins*"])])
