"""What is said about the words."""

from __future__ import annotations

from routines_app.core.words import ConcurrencyPolicy, is_exclusive


def test_every_policy_but_allow_is_exclusive() -> None:
    """As the enumeration, and as the text that rows hold."""
    exclusive = {policy for policy in ConcurrencyPolicy if is_exclusive(policy)}
    assert exclusive == {ConcurrencyPolicy.FORBID, ConcurrencyPolicy.REPLACE, ConcurrencyPolicy.QUEUE}
    assert is_exclusive("FORBID")
    assert not is_exclusive("ALLOW")
