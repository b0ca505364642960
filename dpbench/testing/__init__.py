"""The conformance kit: one line in an author's tests, or ``python -m dpbench check NAME``, tries what every component must keep.

::

    from dpbench.testing import conformance
    from my_package.shrunk import Shrunk

    test_shrunk = conformance(Shrunk)

``audit_black_box`` tries the claim of any other program, by the weights that it returns.
"""

from dpbench.audit.black_box import NeighbouringTables, audit_black_box
from dpbench.audit.epsilon_lower_bound import EpsilonLowerBound
from dpbench.audit.subject import AuditSettings, ClaimedPrivacy
from dpbench.testing.conformance import assert_conforms, conformance, conforms
from dpbench.testing.findings import Findings, LawOutcome
from dpbench.testing.running import check

__all__ = [
    "AuditSettings",
    "ClaimedPrivacy",
    "EpsilonLowerBound",
    "Findings",
    "LawOutcome",
    "NeighbouringTables",
    "assert_conforms",
    "audit_black_box",
    "check",
    "conformance",
    "conforms",
]
