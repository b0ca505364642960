"""The plugins that ship with dpbench. The core reaches them only through hooks, like any other plugin."""
