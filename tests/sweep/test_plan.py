"""The plan says of every cell whether it runs, why it does not, and in which unit."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dpbench.bench.cell import Cell, digest
from dpbench.errors import Refused
from dpbench.sweep.grid import loaded
from dpbench.sweep.plan import QUICK_REPEATS, plan, refuse_pruned

from .conftest import Home  # noqa: TID252
