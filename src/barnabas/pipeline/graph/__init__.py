"""`barnabas pipeline graph`: what a project reads, makes and writes, as text and as pictures."""
