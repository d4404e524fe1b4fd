"""`python -m nucleate` is `nucleate`."""

from nucleate.cli.main import main

if __name__ == "__main__":
    main()
