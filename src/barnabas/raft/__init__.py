"""Consensus on the metadata log, in KRaft's formats: a pure core that decides, a shell that reads, writes and waits.

Today's quorums have one voter. The core counts votes and log ends against a majority of the voter set, whatever its
size; what larger quorums add is messages between voters and the roles that answer them.
"""
