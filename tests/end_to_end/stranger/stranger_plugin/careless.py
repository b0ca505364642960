"""A plugin that cannot be imported."""

raise RuntimeError("the stranger forgot a file")
