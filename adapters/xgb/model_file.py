"""Files of XGBoost's models with a digest of all that XGBoost wrote, which is checked before XGBoost reads them."""

from __future__ import annotations

import re
from os import PathLike
from pathlib import Path

import xgboost

from ordinal_objectives.aliases import JSON
from ordinal_objectives.utils import files

_NAME = files.DIGEST.encode()
# How a sealed model begins, and what stands after the digest, by the beginning of XGBoost's own bytes.
_SEALS = {
    b'{"': (b'{"' + _NAME + b'":"', b'",'),
    b"{L": (b"{L" + len(_NAME).to_bytes(8, "big") + _NAME + b"SL" + (64).to_bytes(8, "big"), b""),
}
_UNSEALED = re.compile(rb'\s*\{\s*"(?:Config|learner|version)"|\{L\0{7}\x07learner')


def sealed(raw: bytes) -> bytes:
    """Return the bytes of a model, in JSON or UBJSON, with a digest of them, which XGBoost passes over."""
    before, after = _SEALS[raw[:2]]
    return before + files.digest(raw).encode() + after + raw[1:]


def unsealed(content: bytes) -> bytes:
    """Return the bytes that :func:`sealed` was given; all of a file without a digest, as XGBoost writes it.

    Raises
    ------
    ValueError
        If the digest is that of other bytes, or the file begins otherwise.
    """
    for before, after in _SEALS.values():
        if content.startswith(before):
            end = len(before) + 64
            raw = b"{" + content[end:].removeprefix(after)
            files.check_digest(content[len(before) : end].decode(), raw)
            return raw
    if not _UNSEALED.match(content):
        raise ValueError("it does not begin as a model")
    return content


def content_of(path: str | PathLike[str]) -> bytearray:
    """Return a model's bytes in a file, whose digest is checked where it has one; raise ValueError if it is damaged."""
    files.check_kind(path, "XGBoost")
    with files.as_damaged_file(path):
        content = Path(path).read_bytes()
        if not content.rstrip().endswith(b"}"):  # XGBoost reads on behind the end, or crashes
            raise ValueError("it is not complete")
        return bytearray(unsealed(content))


def from_file(path: str | PathLike[str], params: JSON | None = None) -> xgboost.Booster:
    """Return the booster of a file; raise ValueError if it is damaged."""
    content = content_of(path)
    with files.as_damaged_file(path):
        return xgboost.Booster(params, model_file=content)
