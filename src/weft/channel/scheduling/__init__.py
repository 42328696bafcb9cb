"""When the event channel runs what: RT_Info, the off-line scheduler, its file, and its analysis (S3-10)."""
