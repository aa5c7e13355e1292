"""How fast clients may go: rates and buckets, which limit is whose, and how long one that was too fast must rest."""
