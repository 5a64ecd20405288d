"""When a routine is looked at next, and what becomes of slots that will not fire any more.

* `planning`: from a routine and its state to the core's plan, and back into the state. No database.
* `hints`: a proposal, and the end of hints whose time is over.
* `leaving`: the whole move of a schedule to another plan, and to none.
* `end_of_pause`: what it releases. `held`: runs that a pause or a parking holds back. `park`: a routine that goes on
  only when somebody resets it. `taking_over`: an old scheduler's slots become ours.
* `unfired`: the slots that all of these leave behind, counted and written as SKIPPED.

Whoever changes a plan has locked the routine's state. Slots that fire are the claim's; nothing here makes a run that
will run.
"""
