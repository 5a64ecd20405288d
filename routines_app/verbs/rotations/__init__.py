"""What people do with rotations. What concerns a rotation's own routine is done by the verbs beside this package."""
