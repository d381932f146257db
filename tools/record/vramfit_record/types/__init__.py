"""Types of networks: recorded once, so that any configuration of theirs is known."""
