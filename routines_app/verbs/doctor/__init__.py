"""The doctor: a module for each topic, whose questions stand alone, and `doctor`, which asks them all.

A question gives one `Answer`, or several; one that raises or hangs is an answer too. Nothing is written anywhere.
"""
