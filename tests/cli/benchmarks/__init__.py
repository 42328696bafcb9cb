"""That the benchmarks measure what they say."""
