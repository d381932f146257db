"""Records what a network's Python does in a forward pass, without a GPU and without weights."""
