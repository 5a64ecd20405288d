"""The command line: `commands/routines.py` is the command, `subcommands/` holds one module for each of its verbs."""
