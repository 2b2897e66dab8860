"""What all rooms use: checks of arguments, files, docstrings, optional libraries."""

from ordinal_objectives.utils.shared_docs import (
    DOC_LINK as DOC_LINK,
    documented as documented,
    names_for_users as names_for_users,
    public_names as public_names,
)
