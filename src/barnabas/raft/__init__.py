"""Consensus on the metadata log, in KRaft's formats: a pure core that decides, and a shell that does the I/O.

A quorum has one voter today. The core already requires a majority of the voter set, whatever its size; larger quorums
will add the messages between voters, and the roles that answer them.
"""
