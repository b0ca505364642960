"""The laws that a mechanism must keep; `python -m dpbench check huber_chunks` lists them."""

from dpbench_huber_chunks import HuberChunks

from dpbench.testing import conformance

test_huber_chunks = conformance(HuberChunks)
