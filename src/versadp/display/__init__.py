"""What people see: tables, progress, pictures. Arrays and strings in; nothing of the domain is known here."""
