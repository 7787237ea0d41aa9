"""The delta of a collection since its version was built: a memtable of added targets, and marks of removed ones."""
