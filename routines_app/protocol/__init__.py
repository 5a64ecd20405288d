"""The life of a run, a folder for each noun: claim, publish, run, end, and what they stand on (docs/architecture.md).

Here, and in the verbs, routines, states and runs are written; nowhere else. Imports point in one direction, as
import-linter holds: upkeep, claim and run, publish, end, rotate, plan, record, ledger.
"""
