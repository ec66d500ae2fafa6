"""From true values to released ones."""
