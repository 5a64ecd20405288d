"""The pages of docs/ that are made of code."""
