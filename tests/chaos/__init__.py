"""Chaos: a deployment under random, seeded faults, judged by the oracle. `make chaos MINUTES=10 SEED=1`."""
