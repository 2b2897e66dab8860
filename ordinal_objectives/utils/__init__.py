"""What all rooms use: checks of arguments, files, docstrings, optional libraries."""

from ordinal_objectives.utils.shared_docs import documented as documented
