"""What happened: the rows of a run, and how what a node does becomes rows (docs/how-to/recording.md)."""

from weft.recorder.book import Book, BookBatch
from weft.recorder.schema import COLUMNS, KINDS, VERSION, Column

__all__ = ["COLUMNS", "KINDS", "VERSION", "Book", "BookBatch", "Column"]
