"""Health: `sign` is what a process leaves on its own machine, `standing` what the ledger knows, `health` the verb."""
