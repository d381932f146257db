"""What the client of a server of trl 1.9 imports: a server is not traced."""


class StatelessProcessGroup:
    """Of which the client makes none without a server."""
