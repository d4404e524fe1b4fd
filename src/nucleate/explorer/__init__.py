"""The explorer: a page to watch tokens in a browser, and the local server that runs the engine for it."""
