"""The life of a run: claim, admit, publish, start, run, finish, reconcile. The only writers of states and runs."""
