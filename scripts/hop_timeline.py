#!/usr/bin/env python3
"""hop_timeline.py - plots the output of bench/measure/hop_timeline.c.

  hop_timeline.py FILE.json [--precision single] > hop.svg       (by gnuplot)

There is one bar for each kind of block, lattice and way of hiding messages. It extends from the begin of the first block to the end
of the last one on rank 0, in microseconds since the hop began there. "messages": from the boundary's first poll until its last block
has all messages. Needs only Python's standard library.
"""
import argparse
import json
import subprocess
import sys

BARS = (("gather", "gather_begin", "gather_end", "dark-red"), ("interior", "interior_begin", "interior_end", "dark-blue"),
        ("messages", "boundary_begin", "arrived_last", "orange"), ("boundary", "arrived_first", "boundary_end", "dark-green"))


def script_of(rows):
    words, labels, plots, at = [], [], {name: [] for name, *_ in BARS}, 0
    for row in rows:
        line = row["timeline"][0]
        lattice = "x".join(str(n) for n in row["local"])
        labels.append((at - 1.5, f"{lattice} {row['overlap']}, {row['hop_us']:.1f} us a hop"))
        for name, begin, end, _ in BARS:
            if line[begin] is not None and line[end] is not None:
                plots[name].append((line[begin], line[end], at))
            at -= 1
        at -= 1
    first = rows[0]
    words += [f"set terminal svg size 820,{140 + 22 * -at} font 'sans,12' background 'white'",
              f"set title '{first['ranks']} x {first['device']}, {first['precision']}, 12-real links: one hop' noenhanced",
              "set xlabel 'microseconds'", "set grid xtics", "set key outside top horizontal",
              "set style fill solid 1 noborder", f"set yrange [{at}:1]",
              "set ytics (" + ", ".join(f"'{text}' {y}" for y, text in labels) + ")"]
    drawn = [(name, colour) for name, _, _, colour in BARS if plots[name]]
    words.append("plot " + ", \\\n  ".join(f"'-' using 1:3:1:2:($3-0.4):($3+0.4) with boxxyerror linecolor '{colour}' "
                                           f"title '{name}'" for name, colour in drawn))
    for name, _ in drawn:
        words += [f"{begin} {end} {y}" for begin, end, y in plots[name]] + ["e"]
    return "\n".join(words) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--precision", default="single")
    given = parser.parse_args()
    with open(given.file, encoding="utf-8") as file:
        rows = [row for row in json.load(file) if row["precision"] == given.precision]
    if not rows or all(value is None for row in rows for value in row["timeline"][0].values()):
        sys.exit("hop_timeline.py: no hops of a divided lattice in this precision")
    done = subprocess.run(["gnuplot"], input=script_of(rows), stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit("hop_timeline.py: gnuplot failed")
    print("\n".join(line.rstrip() for line in done.stdout.splitlines()))


main()
