"""What is written and told about a run: its facts, its outcome, clean texts, messages, signals, the history of changes.

Nothing here moves a run from one status to another.
"""
