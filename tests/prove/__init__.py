"""The proving ground in continuous integration: a good number of seeds in every world; thousands in `make soak`."""
