"""Where Django looks for commands: `routines` alone, which hands on to the subcommands."""
