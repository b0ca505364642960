"""The conformance kit: one line in an author's tests, or ``python -m dpbench check NAME``, tries what every component must keep.

::

    from dpbench.testing import conformance
    from my_package.shrunk import Shrunk

    test_shrunk = conformance(Shrunk)
"""

from dpbench.testing.conformance import assert_conforms, conformance, conforms
from dpbench.testing.findings import Findings, LawOutcome
from dpbench.testing.running import check

__all__ = ["Findings", "LawOutcome", "assert_conforms", "check", "conformance", "conforms"]
