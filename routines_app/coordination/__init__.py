"""What beats and workers agree on outside the database: leases, wake-ups and the broker."""
