"""What measurements are made with: hosts, runs made up from a seed, and a count of what a journal writes."""
