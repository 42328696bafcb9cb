"""Files that nodes read and write: object models, saves, schedules."""
