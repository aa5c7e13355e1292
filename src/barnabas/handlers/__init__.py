"""One file per API: authorise, validate, call a room below, answer. A partition's error becomes a code here."""
