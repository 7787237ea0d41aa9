"""Work that makes a new version of a collection while it is served: a merge, or a fit on another query bank."""
