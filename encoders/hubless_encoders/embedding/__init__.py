"""From pictures, texts and source files to vectors, payload and a query bank, by an encoder."""
