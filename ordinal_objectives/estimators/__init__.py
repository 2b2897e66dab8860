"""Code that all classifiers share: labels, rows to evaluate, start scores, parameters and files of a host."""
