"""Engines: where work units run. One loop over ``concurrent.futures`` serves all of them."""
