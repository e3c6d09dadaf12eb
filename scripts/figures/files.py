"""Files that are there whole or not at all."""


def replace_file(path, write):
    """write(file) fills a text file, which takes the place of `path` when it is whole."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8", newline="") as file:
        write(file)
    temporary.replace(path)
