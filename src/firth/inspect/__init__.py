"""Views of a trained model's inside as plain values, which the command line, reports and notebooks draw."""
