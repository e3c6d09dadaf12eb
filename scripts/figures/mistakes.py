"""How a script ends that was asked for what cannot be."""
import sys


def refuse(message):
    """Ends this process with the code of bad input."""
    print(message, file=sys.stderr)
    sys.exit(2)


def make_out(folder):
    """The folder that --out names."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        refuse(f"--out {folder}: not a folder, and none can be made there ({error.strerror})")
