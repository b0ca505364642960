"""What ships with dpbench, reached only through the hooks, as a stranger's plugin would be."""
