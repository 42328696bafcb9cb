"""What happened: the rows of a run, and how what a node does becomes rows (docs/how-to/recording.md)."""

from weft.recorder.book import Book, BookBatch
from weft.recorder.schema import COLUMNS, FILTERED, KINDS, VERSION, Column

__all__ = ["COLUMNS", "FILTERED", "KINDS", "VERSION", "Book", "BookBatch", "Column"]
