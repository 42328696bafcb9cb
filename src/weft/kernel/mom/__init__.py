"""The Management Object Model (clause 11)."""
