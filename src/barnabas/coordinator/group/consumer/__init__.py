"""Consumer groups of KIP-848: the coordinator assigns, and members reconcile what they have with it, one by one."""
