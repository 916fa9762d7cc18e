"""Verbs that change the files of a table, or delete them.

optimize  compacts, sorts and re-shreds files
delete    deletes rows
restore   brings an older version back
vacuum    deletes files that no retained version needs
"""
