"""What all rooms use: checks of arguments, files, docstrings, optional libraries."""
