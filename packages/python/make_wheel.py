"""Writes the wheel of the package without setuptools or network access: `python3 make_wheel.py FOLDER VERSION`."""

import base64
import hashlib
import os
import sys
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def main(folder: str, version: str) -> str:
    info = f"goshawk-{version}.dist-info"
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    metadata = (
        "Metadata-Version: 2.1\n"
        "Name: goshawk\n"
        f"Version: {version}\n"
        "Summary: Client and concurrent.futures executor for Goshawk clusters\n"
        "License: Apache-2.0\n"
        "Requires-Python: >=3.9\n"
        "Requires-Dist: cloudpickle\n"
        "Description-Content-Type: text/markdown\n"
        f"\n{readme}"
    )
    files = {}
    package = os.path.join(HERE, "goshawk")
    for name in sorted(os.listdir(package)):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(package, name), "rb") as file:
                files[f"goshawk/{name}"] = file.read()
    files[f"{info}/METADATA"] = metadata.encode()
    files[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: goshawk\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = "".join(f"{name},{digest(content)},{len(content)}\n" for name, content in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()

    path = os.path.join(folder, f"goshawk-{version}-py3-none-any.whl")
    # Fixed timestamps make the wheel of a commit reproducible.
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return path


def digest(content: bytes) -> str:
    value = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={value.decode()}"


if __name__ == "__main__":
    print(main(*sys.argv[1:3]))
