"""Batches of pauses: many routines that are paused as one, in pieces, and resumed as one."""
