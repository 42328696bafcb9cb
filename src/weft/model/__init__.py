"""The vocabulary: handles, logical time, enumerations, records, errors."""
