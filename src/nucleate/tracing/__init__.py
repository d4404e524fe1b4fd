"""Tokens of real transformers over depth: controls, criteria, verdicts, the bridge to our dynamics, the
report."""
