"""Decides for the quorum: the roles of a voter, its elections, and the formats of its files. No I/O, no clock."""
