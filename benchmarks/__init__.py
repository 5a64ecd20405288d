"""Benchmarks: every figure is measured against its peers in the same run, on the same PostgreSQL and Redis."""
