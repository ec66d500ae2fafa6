"""What a release says of its columns: one pass over the records, and statistics from what it has summed up."""
