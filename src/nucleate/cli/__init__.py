"""The command line: one file per command; each parses, calls one function, and prints."""
