"""What tests share: cases, references, and functions that other processes import."""
