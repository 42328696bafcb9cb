"""The state of a federation, and what goes in and out of the kernel: parcels, effects, turns."""
