"""Shadow: an old scheduler and ours side by side, the report that compares them, and the switch-over.

`seen_fires` keeps what the old one was seen to fire, `old_side` disables and enables its entries, `choosing` says which
routines are meant, `report` compares slot by slot, `switch_over` and `switch_back` hand slots from one to the other.
"""
