"""Federation management (clause 4): founding, membership, synchronization points, save and restore; and the operator."""
