"""Shadow: an old scheduler and ours side by side, the report that compares them, and the switch-over.

`old_fires` keeps what the old one was seen to fire, `old_side` disables and enables its entries, `report` compares slot
by slot, `switch_over` and `switching_back` hand a routine's slots from one to the other.
"""
