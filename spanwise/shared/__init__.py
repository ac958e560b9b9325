"""What clients and workers share under names, and wait for."""
