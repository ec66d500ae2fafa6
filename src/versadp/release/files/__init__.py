"""Files of any size into release folders."""
