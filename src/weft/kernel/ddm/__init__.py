"""Data distribution: whose regions overlap, now or at a logical time, and over which channels a message goes."""
