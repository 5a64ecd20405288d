"""Hiding what looks secret, by the name that stands before it or by its own look, wherever values and texts are shown.

`secret_names` says which names are secret, `texts` and `values` put masks in, `brief` shows any value in an error text.
What is stored stays as it is: a mask is put in on the way out. It never raises, takes a time that grows with the length
of what it reads, and goes to a bounded depth.
"""

from routines_app.masks.brief import brief
from routines_app.masks.secret_names import looks_secret
from routines_app.masks.texts import MASK, masked_line
from routines_app.masks.values import entries, holds_secret, masked, masked_json

__all__ = ["MASK", "brief", "entries", "holds_secret", "looks_secret", "masked", "masked_json", "masked_line"]
