"""Sessions of the Federate Protocol: frames, acknowledgement, resuming, WebSocket."""
