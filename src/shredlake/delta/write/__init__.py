"""Writing a table: transactions, layouts, data files, and every verb that changes it."""
