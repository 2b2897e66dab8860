"""What classifiers share: labels, tables, rows, rounds, predictions, files; and classifiers made of others."""
