"""`python -m crop_cli` is `crop`."""

from crop_cli.cli.main import run

if __name__ == "__main__":
    run()
