"""Files that are there whole or not at all."""
import contextlib


@contextlib.contextmanager
def whole(path):
    """The path of a file to fill, which takes the place of `path` at the end."""
    temporary = path.with_name(path.name + ".tmp")
    yield temporary
    temporary.replace(path)


def replace_file(path, write):
    """write(file) fills a text file, which takes the place of `path` when it is whole."""
    with whole(path) as temporary, open(temporary, "w", encoding="utf-8", newline="") as file:
        write(file)
