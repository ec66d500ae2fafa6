"""Tables, progress and pictures from arrays and strings; nothing of the domain is known here."""
