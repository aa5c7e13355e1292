"""Consensus on the metadata log, in KRaft's formats: a pure core that decides, and a shell that does the I/O.

The core is all of KRaft, for any number of voters and observers; `core/raft.py` has the table of its roles. The shell
(`node.py`) drives it for a quorum of one, and sends nothing yet.
"""
