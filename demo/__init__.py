"""`make demo`: a broker, producers and a consumer group on real clients, two kills and a proof that nothing was lost.

The actors are processes of their own. A sender writes down the id of every record the broker acknowledged; a member of
the group writes down every record it processed, and only then commits. The proof compares those files and nothing else.
"""
