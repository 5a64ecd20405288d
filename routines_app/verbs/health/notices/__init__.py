"""What is wrong with the fleet, loudly: `notice` is one thing, `nodes`, `work`, `backlog` and `others` find them, `ask`
is the verb."""
