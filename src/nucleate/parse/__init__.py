"""Matrices and masks as people write them: one grammar for the command line, study files and the explorer."""
