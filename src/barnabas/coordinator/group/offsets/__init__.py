"""The offsets that groups commit, inside and outside of transactions."""
