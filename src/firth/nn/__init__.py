"""Neural network layers that are independent of any task."""
