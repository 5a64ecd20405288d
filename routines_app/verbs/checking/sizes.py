"""How much may be given at once, beside what each field says for itself (`validation.FIELDS`).

A size is looked at before anything else: matching, parsing or comparing megabytes keeps a process busy for seconds,
and whoever may type into a form could ask for that again and again.
"""

from __future__ import annotations

LONGEST_REASON = 2_000
LONGEST_KEY = 200
LONGEST_TASK = 255  # what the column holds
LONGEST_WORDS = 25_000  # characters of a list that is typed: a hundred words of a hundred characters, quoted
JSON_PER_BYTE = 4  # characters that may be typed for each byte that is stored: indented, escaped

LONGEST_SEARCH = 100
SEARCH_WORDS = 8  # each is looked for in every row
LONGEST_ADDRESS = 4_000  # characters behind the question mark: filters, order and search together
LONGEST_FORM = 500_000  # characters of a whole form, beside arguments
LONGEST_QUESTION = 16_000  # of what asks for a preview or, from a project's own page, for a verb
