"""The cache of one entry."""

from __future__ import annotations

import pytest

from dpbench.base.one_entry_cache import OneEntryCache


def test_a_value_is_made_once_until_another_key_comes() -> None:
    made: list[str] = []
    cache: OneEntryCache[str] = OneEntryCache()
    for key in ("a", "a", "b", "b", "a"):
        assert cache.get(key, lambda key=key: made.append(key) or key.upper()) == key.upper()
    assert made == ["a", "b", "a"]
    assert cache.holds("a")
    assert not cache.holds("b")


def test_none_is_a_value_too() -> None:
    cache: OneEntryCache[None] = OneEntryCache()
    cache.get("a", lambda: None)
    cache.get("a", pytest.fail)


def test_the_last_value_is_forgotten_before_the_next_is_made() -> None:
    """If making the next one fails, the last one is not returned for its key."""
    cache: OneEntryCache[int] = OneEntryCache()
    cache.get("a", lambda: 1)
    with pytest.raises(ZeroDivisionError):
        cache.get("b", lambda: 1 // 0)
    assert cache.get("a", lambda: 2) == 2


def test_a_cleared_cache_makes_its_value_again() -> None:
    cache: OneEntryCache[int] = OneEntryCache()
    cache.get("a", lambda: 1)
    cache.clear()
    assert cache.get("a", lambda: 2) == 2
