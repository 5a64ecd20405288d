"""Tests of batches of pauses."""
