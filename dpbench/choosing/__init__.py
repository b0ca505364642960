"""Choose a mechanism and an ε from public facts: simulate tables that agree with them, and look at the errors there."""
