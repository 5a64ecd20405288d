"""The oracle: judges a window of time by facts that the scheduler had no hand in computing.

What should have fired comes from cronsim and plain arithmetic over the routines' definitions and their history of
changes. What did happen comes from plain reads of the ledger and from the files that task bodies append to. Nothing of
`routines_app` is imported here except the models, and of those only columns are read.
"""

from tests.oracle.judge import judge, judge_bodies
from tests.oracle.verdict import Verdict

__all__ = ["Verdict", "judge", "judge_bodies"]
