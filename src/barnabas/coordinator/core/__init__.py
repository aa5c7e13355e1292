"""What every coordinator's core is made of: decisions, deadlines, and the interfaces it depends on."""
