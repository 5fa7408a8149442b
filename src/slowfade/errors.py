"""The one exception that ends a command in one line."""

from __future__ import annotations


class UserError(Exception):
    """Something the user can put right. Its message is one line: what is wrong, and what to do."""
