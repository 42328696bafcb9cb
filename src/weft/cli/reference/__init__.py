"""Commands that tell about Weft itself and this machine: services, errors, doctor, completion, prove."""
