"""Many runs reviewed in one session, and what was found written into the lake (docs/how-to/lake.md)."""
