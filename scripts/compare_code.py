#!/usr/bin/env python3
"""compare_code.py OLD_BUILD NEW_BUILD [--cpu | --cuda] - are the kernels of two builds the same machine code?

Reads the objects of both builds; it compiles nothing and needs no device. Kernels are compared function by function. Names of
functions and files, locations of objects, and distances between functions are ignored. So a kernel stays equal if its file is moved
or its function renamed. Functions are matched within one instruction set and precision.

Host kernels (objects of every */cpu/*.c) are disassembled by objdump. A jump is represented by the index of
its target instruction, a floating-point constant by its value. Padding, strings and tables are not compared. Device kernels are the
code sections of the device images inside the objects. They are compared byte by byte, with relocations without names.

Prints compared, equal, different, missing and new functions, and the names of those that are not equal. Exit status: 0 if every
function of the old build is in the new one; 1 otherwise; 2 if there is nothing to compare.
"""
import argparse
import collections
import hashlib
import multiprocessing
import os
import re
import struct
import subprocess
import sys

HOST = re.compile(r"/(?:kaon_\w*?)?_cpu_\w*?_?(scalar|x86_64|avx2|avx512)_(d|s|h|all)\.dir/.*\.o$")
CUDA = re.compile(r"/kaon_\w+?_(d|s|h|all)\.dir/.*\.cu\.o$")
LINE = re.compile(r"^\s*([0-9a-f]+):\t(.*?)\s*$")
LABEL = re.compile(r"^([0-9a-f]+) <(.*)>:$")
RELOCATION = re.compile(r"^\s*([0-9a-f]+): (R_\S+)\s+(\S+?)(?:([+-])0x([0-9a-f]+))?$")
TARGET = re.compile(r"\b([0-9a-f]+) <[^>]*>")
CONSTANTS = re.compile(r"^\.rodata\.cst(\d+)$")


class Elf:
    """Sections, symbols and relocations of a 64-bit little-endian ELF file."""

    def __init__(self, data):
        self.data = data
        start, = struct.unpack_from("<Q", data, 40)
        size, count, names = struct.unpack_from("<HHH", data, 58)
        keys = ("name", "type", "flags", "address", "offset", "size", "link", "info")
        self.sections = [dict(zip(keys, struct.unpack_from("<IIQQQQII", data, start + i * size))) for i in range(count)]
        table = self.sections[names]
        for section in self.sections:
            section["name"] = self.text(table, section["name"])

    def text(self, table, offset):
        begin = table["offset"] + offset
        return self.data[begin:self.data.index(b"\0", begin)].decode()

    def bytes(self, section):
        return self.data[section["offset"]:section["offset"] + section["size"]]

    def constants(self):
        """symbol: (size, bytes from there on) for symbols in sections of constants"""
        found = {}
        for section in self.sections:
            size = CONSTANTS.match(section["name"])
            if size:
                found[section["name"]] = int(size.group(1)), self.bytes(section)
        for table in (s for s in self.sections if s["type"] == 2):
            for at in range(table["offset"], table["offset"] + table["size"], 24):
                name, _, _, number, value = struct.unpack_from("<IBBHQ", self.data, at)
                home = self.sections[number]["name"] if number < len(self.sections) else ""
                if name and home in found:
                    size, content = found[home]
                    found[self.text(self.sections[table["link"]], name)] = size - value % size, content[value:]
        return found

    def named(self, name):
        return next((self.bytes(section) for section in self.sections if section["name"] == name), b"")


def host_functions(path):
    """(name, digest) of each function of an object for the host"""
    with open(path, "rb") as file:
        elf = Elf(file.read())
    constants = elf.constants()
    listing = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-w", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    functions, body = [], None
    for line in listing.splitlines():
        if found := LABEL.match(line):
            body = []
            functions.append((found.group(2), body))
        elif body is not None and (found := LINE.match(line)):
            text, *relocations = re.split(r"\t(?=[0-9a-f]+: R_)", found.group(2))
            body.append([int(found.group(1), 16), text.strip(), relocations])
    return [(name, digest_host(body, constants)) for name, body in functions]


def digest_host(body, constants):
    body = [line for line in body if not re.match(r"(data16 |cs |xchg   %ax,%ax)*(nop\w?\b|xchg +%ax,%ax)", line[1])]
    numbers = {line[0]: i for i, line in enumerate(body)}
    digest = hashlib.sha256()
    for i, (address, text, relocations) in enumerate(body):
        after = body[i + 1][0] if i + 1 < len(body) else None
        text = re.sub(r"\s*#.*", "", text)
        if not relocations:
            text = TARGET.sub(lambda t: f"@{numbers.get(int(t.group(1), 16), 'function')}", text)
        else:
            text = TARGET.sub("@symbol", text)
        text = re.sub(r"-?(0x)?[0-9a-f]+\(%rip\)", "(%rip)", text)
        for relocation in relocations:
            text += " " + relocation_text(relocation, after, constants)
        digest.update(text.encode() + b"\n")
    return digest.hexdigest()


def relocation_text(relocation, after, constants):
    found = RELOCATION.match(relocation)
    if not found:
        return relocation
    place, kind, symbol, sign, addend = found.groups()
    if symbol in constants and after is not None:
        size, content = constants[symbol]
        offset = (int(addend, 16) if addend else 0) * (-1 if sign == "-" else 1) + after - int(place, 16)
        return f"{kind} {content[offset:offset + size].hex()}"
    return kind


def device_images(data):
    """the device ELF files in a fat binary; PTX beside them is not compared"""
    at = 0
    while at + 16 <= len(data):
        magic, _, head, size = struct.unpack_from("<IHHQ", data, at)
        if magic != 0xBA55ED50:
            at += 8  # padding between fat binaries
            continue
        at, end = at + head, at + head + size
        while at < end:
            kind, _, head, size = struct.unpack_from("<HHIQ", data, at)
            image = data[at + head:at + head + size]
            if kind == 2:
                if image[:4] != b"\x7fELF":
                    raise ValueError("a device image is compressed; build with -Xfatbin -no-compress")
                yield Elf(image)
            at += head + size


def device_functions(path):
    """(name, digest) of each function of the device in an object or a fat binary"""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == b"\x7fELF":
        elf = Elf(data)
        data = elf.named(".nv_fatbin")  # relocatable code is compared where it is linked
    functions = []
    for image in device_images(data):
        relocations = {}
        for section in image.sections:
            if section["type"] in (4, 9):  # RELA, REL
                step = 24 if section["type"] == 4 else 16
                raw = image.bytes(section)
                relocations.setdefault(section["info"], []).extend(
                    (struct.unpack_from("<Q", raw, at)[0], struct.unpack_from("<I", raw, at + 8)[0], raw[at + 16:at + step])
                    for at in range(0, len(raw), step))
        for number, section in enumerate(image.sections):
            if section["name"].startswith(".text."):
                digest = hashlib.sha256(image.bytes(section))
                digest.update(struct.pack("<I", section["info"] >> 24))  # registers
                for offset, kind, addend in sorted(relocations.get(number, [])):
                    digest.update(struct.pack("<QI", offset, kind) + addend)
                functions.append((section["name"][6:], digest.hexdigest()))
    return functions


def objects(build, kinds):
    """(group, reader, path) of every object with kernels"""
    for folder, _, files in os.walk(build):
        for name in files:
            path = os.path.join(folder, name)
            if "host" in kinds and (found := HOST.search(path)):
                yield " ".join(("host",) + found.groups()), host_functions, path
            elif "cuda" in kinds and "/tests/" not in path and (found := CUDA.search(path)):
                yield "device " + found.group(1), device_functions, path
            elif "cuda" in kinds and path.endswith((".fatbin", "_linked.o")):
                yield "device linked", device_functions, path


def read(task):
    group, reader, path = task
    return group, [(re.sub(r"\b(_INTERNAL_|__nv_static_\d+__)[0-9a-f]+", r"\1", name), digest) for name, digest in reader(path)]


def functions(build, kinds, pool):
    found = collections.defaultdict(collections.Counter)
    count = 0
    for group, pairs in pool.imap_unordered(read, objects(build, kinds)):
        count += 1
        found[group].update(pairs)
    return found, count


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("old"), parser.add_argument("new")
    parser.add_argument("--cpu", action="store_const", const=("host",), dest="kinds", default=("host", "cuda"))
    parser.add_argument("--cuda", action="store_const", const=("cuda",), dest="kinds")
    given = parser.parse_args()
    with multiprocessing.Pool() as pool:
        old, old_objects = functions(given.old, given.kinds, pool)
        new, new_objects = functions(given.new, given.kinds, pool)
    if not old or not new:
        print(f"compare_code.py: {old_objects} objects with kernels in {given.old}, {new_objects} in {given.new}", file=sys.stderr)
        return 2
    total = collections.Counter()
    for group in sorted(set(old) | set(new)):
        left, right = bodies(old[group]), bodies(new[group])
        equal = left & right
        lost, added = names(old[group], left - equal), names(new[group], right - equal)
        different = sorted((lost & added).elements())
        missing, fresh = sorted((lost - added).elements()), sorted((added - lost).elements())
        row = {"compared": sum(left.values()), "equal": sum(equal.values()), "different": len(different), "missing": len(missing),
               "new": len(fresh)}
        total.update(row)
        print(f"{group:22}", "  ".join(f"{value} {key}" for key, value in row.items()))
        for word, listed in (("different", different), ("missing", missing), ("new", fresh)):
            for name in listed:
                print(f"    {word}: {name}")
    print(f"{'all':22}", "  ".join(f"{total[key]} {key}" for key in ("compared", "equal", "different", "missing", "new")))
    return 0 if total["equal"] == total["compared"] else 1


def bodies(pairs):
    count = collections.Counter()
    for (_, digest), times in pairs.items():
        count[digest] += times
    return count


def names(pairs, left):
    """names of functions with these bodies, one for each that is left over"""
    left, found = left.copy(), collections.Counter()
    for (name, digest), times in sorted(pairs.items()):
        taken = min(times, left[digest])
        if taken:
            found[name] += taken
            left[digest] -= taken
    return found


if __name__ == "__main__":
    sys.exit(main())
