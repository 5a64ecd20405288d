"""Exports: routines, rotations and pools as a file that people read, review and bring into another ledger.

`fields` says what travels and in which order, `entries` writes it down, `references` keeps secrets out of it, `texts`,
`strict_json` and `yaml_text` are the files. An import reads the `document`, looks the ledger up (`ledger`), reads each
entry (`wanted`, and `kept` for secrets that a routine has already), drafts what would be done (`drafting`, `pools`,
`routines`, `tree`) and does it in one transaction (`creating`, `applying`). A plan is a draft that nobody carries out.
"""
