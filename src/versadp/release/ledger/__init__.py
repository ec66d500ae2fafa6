"""What was released to whom, and what it cost."""
