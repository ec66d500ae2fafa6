"""Speed as ratios against peers and against the machine's limit, in one run; accuracy and coverage by simulation."""
