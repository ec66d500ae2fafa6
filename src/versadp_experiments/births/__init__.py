"""The births benchmark: ten criteria that a ministry agreed on with users of its microdata (Hod and Canetti 2024)."""
