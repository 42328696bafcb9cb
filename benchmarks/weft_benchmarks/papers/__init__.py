"""`weft papers`: the experiments of papers, run on the product and drawn beside what the papers say."""
