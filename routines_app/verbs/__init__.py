"""What people can do with routines and runs: one verb per module. `routines_app.service` is the way in."""
