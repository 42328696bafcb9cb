"""Parcels between nodes (`weft.kernel.state.parcels`) as bytes, and back."""
