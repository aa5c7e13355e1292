"""One file per API: validate the request, call a room below, build the response. Errors become error codes here."""
