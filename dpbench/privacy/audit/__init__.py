"""Audits: a mechanism's claim is tried on neighbours made for it. What each level can see: docs/privacy.md.

:func:`dpbench.privacy.audit.auditing.audit` does one; :class:`dpbench.privacy.audit.plan.Plan` says how.
"""
