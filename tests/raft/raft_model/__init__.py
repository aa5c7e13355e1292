"""A simulated quorum: the real core on simulated disks and a simulated network, in virtual time, from a seed."""
