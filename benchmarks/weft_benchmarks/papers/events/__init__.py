"""The experiments of paper 003: each module measures some of its tables and figures, and says what comes out."""
