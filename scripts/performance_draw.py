"""performance_draw.py - texts, tables and gnuplot scripts of scripts/performance.py. Python's standard library only."""
import hashlib
import shutil
import subprocess


# ---- text ----

def number(x):
    """Four digits, no exponent."""
    return "-" if x is None else f"{x:.0f}" if abs(x) >= 1000 else f"{x:.4g}"


def against(row, other, key="gflops"):
    """A figure, and how many times as good as the peer's it is."""
    if row is None or other is None:
        return number(row and row[key])
    times = other[key] / row[key] if key == "seconds" else row[key] / other[key]
    return f"{number(row[key])} ({times:.2f})"


def table(header, lines):
    return "\n".join("|" + "|".join(map(str, line)) + "|" for line in [header, ["---"] * len(header), *lines]) + "\n"


def section(title, intro, made, plots, commands, files):
    """A part of the page. plots: {name: what it shows}; made: its table, and what is said below."""
    shown = "".join(f"![{what}](plots/{name}.svg)\n" for name, what in plots.items())
    return f"{title}\n\n{intro}\n\n{made}{shown and chr(10)}{shown}\n```\n" + "\n".join(commands) + f"\n```\n\nFiles: {files}.\n"


# ---- plots ----

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7")


def plot(title, ylabel, more, curves):
    """A gnuplot script. curves: [(how it is drawn, [points])]"""
    text = ["set terminal svg size 820,380 font 'sans,13' background 'white'", f"set title '{title}'", f"set ylabel '{ylabel}'",
            "set grid ytics lc rgb '#dddddd'", "set border 3", "set tics nomirror", "set yrange [0:*]", "set key outside right center reverse Left",
            *more, "plot " + ", ".join("'-' using " + how for how, _ in curves)]
    shown = lambda x: "NaN" if x is None else f'"{x}"' if isinstance(x, str) else f"{x:.5g}"
    return "\n".join(text + ["\n".join(" ".join(map(shown, point)) for point in points) + "\ne" for _, points in curves]) + "\n"


def bars(title, ylabel, labels, series):
    """series: {name: [a value for each label]}"""
    return plot(title, ylabel, ["set style data histogram", "set style histogram clustered gap 1.2", "set style fill solid noborder", "set boxwidth 0.9", "set bmargin 4"],
                [(f"2:xtic(1) title '{name}' lc rgb '{COLOURS[i]}'", list(zip(labels, values))) for i, (name, values) in enumerate(series.items())])


def lines(title, xlabel, ylabel, series, more):
    """series: [(name, colour, gnuplot's style, [(x, y)])]"""
    return plot(title, ylabel, [f"set xlabel '{xlabel}'", *more],
                [(f"1:2 with {style} lc rgb '{COLOURS[colour]}' title '{name}'", points) for name, colour, style, points in series])


LINE, DASHED = "linespoints lw 2 pt 7 ps 0.7 dt 1", "linespoints lw 2 pt 7 ps 0.7 dt 2"


def mark(text):
    return f"<!-- {hashlib.sha256(text.encode()).hexdigest()[:16]} -->\n"


def draw(text):
    if not shutil.which("gnuplot"):
        raise FileNotFoundError("gnuplot is missing: install the package gnuplot-nox")
    return subprocess.run(["gnuplot"], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout + mark(text)
