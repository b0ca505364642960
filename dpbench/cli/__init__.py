"""The subcommands of `python -m dpbench`: one file each, with a click command named `command`."""
