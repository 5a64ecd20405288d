"""What the verbs accept: rules for single fields, those between fields, arguments, and finding what a caller means.

Everything here refuses with a `RoutineError` that names the field, or returns the value as it is stored. It reads the
ledger where it must (is there such a pool?) and writes nothing.
"""
