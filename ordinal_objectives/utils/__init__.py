"""What all rooms use: checks of arguments, files, docstrings, optional libraries."""

from ordinal_objectives.utils.shared_docs import DOC_LINK as DOC_LINK
from ordinal_objectives.utils.shared_docs import documented as documented
from ordinal_objectives.utils.shared_docs import public_names as public_names
