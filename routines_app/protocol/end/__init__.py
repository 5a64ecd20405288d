"""How runs end: finished by a worker, found dead, cancelled, replaced; and what their end sets going.

Every way out of RUNNING is here, and most ways out of PENDING. Nothing here looks for work to end: that is `upkeep`.
"""
