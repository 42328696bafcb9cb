"""Commands that run federations: demo, serve, run, console, steer, journal, passwd."""
