"""Sockets: listener, connection, dispatch, limits. Knows nothing of logs or groups."""
