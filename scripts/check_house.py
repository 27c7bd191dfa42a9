"""check_house.py [BUILD] - the budgets of the source tree, and what exceeds them; see check_house.sh."""
import collections
import os
import re
import subprocess
import sys

# Words a page may have. A page that is named without a wildcard must be there.
PAGES = {
    "README.md": 1200, "docs/tutorial.md": 3000, "docs/choosing.md": 1500, "docs/architecture.md": 3000,
    "docs/performance.md": 1500, "docs/papers.md": 4000, "docs/limits.md": 600,
}
LATER_PAGES = {"docs/applications.md": 1500, "docs/actions.md": 1500, "docs/jobs.md": 1500}
README_WORDS = 300  # of a folder
NOTE_WORDS = 400  # of bench/notes
FILES_A_FOLDER = 25  # but in cpu/, cuda/, tests/, bench/results and bench/notes
FILE_LINES = 600
HELP_LINES = 45
PUBLIC_HEADERS = 15  # in kaon.h
OPERATOR_METHODS = 8
OPTIONS = 16  # besides size and version
CLI_LINES, CLI_FILES = 9000, 48  # interfaces/cli
RESULTS_BYTES, PLOTS_BYTES = 2_000_000, 400_000
SUBJECT_LETTERS = 72
PERFORMANCE_SCRIPT_LINES = 400
PERFORMANCE_PLOTS = 8  # shown in docs/performance.md

# Words of the authors alone, and the field's in their place.
PRIVATE = {
    "door": "import, export", "doors": "import, export", "cook": "preconditioner application", "cooks": "preconditioner application",
    "cooked": "preconditioned", "pour": "copy", "pours": "copies", "poured": "copied", "calm": "no flush needed",
    "torn": "incomplete read", "nap": "sleep", "naps": "sleeps", "mail": "reduction result", "mailed": "sent", "mailbox": "peer memory",
    "lent": "borrowed", "brief_": "short copy", "foretell": "estimate", "foretells": "estimates", "foretold": "estimated",
}
WORD_LISTS = ("scripts/check_house.py", "tests/system/test_scripts.py")  # which name them
DEVICES = r"[HAVB][12]00|GH200|L40S?|MI[23]\d0X?|RTX ?\d{4}|Xeon|EPYC|Threadripper"
MEASURED = {  # what belongs to measurements
    "device name": re.compile(rf"\b({DEVICES})\b"),
    "speed": re.compile(r"\b\d[\d,.]*\s*[GT]FLOPS?\b|\b\d[\d,.]*\s*[GT]flop/s", re.I),
}
COMMIT = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
MEASURES = ("bench/", "docs/performance.md", "docs/papers.md", "CHANGELOG.md", "docs/plots/", "tests/", "scripts/performance.py",
            "scripts/check_house.py")

problems = 0


def say(line):
    global problems
    problems += 1
    print(line)


def output(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace").stdout


def most(what, found, limit, unit):
    if found > limit:
        say(f"{what}: {found} {unit}, at most {limit}")


def source(path):
    return path.endswith((".c", ".h", ".cu", ".py", ".sh", ".cmake", ".f90", ".in", "CMakeLists.txt", "Makefile"))


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def folders(files):
    count = collections.Counter(os.path.dirname(path) for path in files)
    for folder, number in sorted(count.items()):
        parts = folder.split("/")
        if parts[-1] not in ("cpu", "cuda") and parts[0] != "tests" and not folder.startswith(("bench/results", "bench/notes")):
            most(folder or "the root", number, FILES_A_FOLDER, "files")
        inside = folder.startswith(("bench/results/", "docs/plots", "tests/data", "tests/fuzz/", "tests/system/", "tests/ranks/", ".ci", ".github"))
        if not inside and folder + "/README.md" not in texts and folder:
            say(f"{folder}: no README.md")
    names = collections.defaultdict(list)
    for path in files:
        parts = path.split("/")
        if path.endswith((".c", ".h")) and not {"cpu", "cuda", "tests", "examples"} & set(parts):
            names[parts[-1]].append(path)
    for name, paths in sorted(names.items()):
        if len(paths) > 1:
            say(f"{name}: {len(paths)} files of one name: {', '.join(paths)}")


def pages():
    for page, limit in PAGES.items():
        if page not in texts:
            say(f"{page}: missing")
    for path, text in sorted(texts.items()):
        words = len(text.split())
        limit = {**PAGES, **LATER_PAGES}.get(path)
        if limit is None and path.startswith("bench/notes/") and path.endswith(".md"):
            limit = NOTE_WORDS
        elif limit is None and path.endswith("/README.md"):
            limit = README_WORDS
        if limit:
            most(path, words, limit, "words")
    shown = set(re.findall(r"plots/[\w.-]+", texts.get("docs/performance.md", "")))
    most("docs/performance.md", len(shown), PERFORMANCE_PLOTS, "plots")
    most("scripts/performance.py", texts.get("scripts/performance.py", "").count("\n"), PERFORMANCE_SCRIPT_LINES, "lines")


def sources(files):
    lines = {path: texts[path].count("\n") for path in files if path in texts and source(path)}
    for path, number in sorted(lines.items()):
        most(path, number, FILE_LINES, "lines")
    cli = [path for path in lines if path.startswith("interfaces/cli/") and path.endswith((".c", ".h"))]
    most("interfaces/cli", len(cli), CLI_FILES, "files")
    most("interfaces/cli", sum(lines[path] for path in cli), CLI_LINES, "lines")
    for folder, limit in (("bench/results", RESULTS_BYTES), ("docs/plots", PLOTS_BYTES)):
        size = sum(os.path.getsize(path) for path in files if path.startswith(folder + "/") and os.path.exists(path))
        most(folder, size, limit, "bytes")
    topics = collections.defaultdict(list)
    for path in files:
        if path.startswith("bench/results/") and path.endswith(".json"):
            topics[re.sub(r"/\d{4}-\d\d-\d\d-[0-9a-f]+-", "/", path)].append(path)
            for key in ("host", "argv"):
                if f'"{key}":' in texts.get(path, ""):
                    say(f'{path}: has "{key}"')
    for topic, paths in sorted(topics.items()):
        most(topic, len(paths), 1, "files of the topic")


def interface():
    headers = re.findall(r"#include <kaon/(\w+\.h)>", texts.get("include/kaon/kaon.h", ""))
    most("include/kaon/kaon.h", len(headers), PUBLIC_HEADERS, "headers")
    for path, text in texts.items():
        if path.startswith("include/kaon/"):
            for body, name in re.findall(r"typedef struct \w+ \{([^{}]*)\} (kaon_\w+_options);", without_comments(text)):
                most(f"{path}: {name}", body.count(";") - 2, OPTIONS, "options")
    found = re.search(r"typedef struct kaon_operator_ops \{(.*?)\} kaon_operator_ops;",
                      without_comments(texts.get("lib/operator/operator_internal.h", "")), re.S)
    if found:
        most("kaon_operator_ops", len(re.findall(r"\(\*\w+\)\(", found.group(1))), OPERATOR_METHODS, "methods")
    else:
        say("lib/operator/operator_internal.h: no kaon_operator_ops")


def language():
    words = re.compile(r"\b(?:" + "|".join(word for word in PRIVATE if not word.endswith("_")) + r")\b|\b(?:" +
                       "|".join(word for word in PRIVATE if word.endswith("_")) + r")", re.I)
    for path, text in sorted(texts.items()):
        if not (source(path) or path.endswith((".md", ".cff"))) or path in WORD_LISTS:
            continue
        if not path.startswith(("bench/peers/", "bench/results/")):
            places = collections.defaultdict(list)
            for number, line in enumerate(text.splitlines(), 1):
                for word in words.findall(line):
                    places[word.lower()].append(str(number))
            for word, lines in sorted(places.items()):
                say(f'{path}:{lines[0]}: "{word}" ({PRIVATE[word]}), {len(lines)} lines')
        if not path.startswith(MEASURES):
            kinds = dict(MEASURED, **({"commit hash": COMMIT} if path.endswith(".md") else {}))
            for what, pattern in kinds.items():
                for number, line in enumerate(text.splitlines(), 1):
                    if found := pattern.search(line):
                        say(f'{path}:{number}: {what} "{found.group(0)}"')
                        break


def commits():
    first = output("git", "log", "--diff-filter=A", "--format=%H", "--", "scripts/check_house.py").split()
    if first:
        for line in output("git", "log", "--format=%h %s", f"{first[-1]}..HEAD").splitlines():
            commit, subject = line.split(" ", 1)
            most(f"commit {commit}", len(subject), SUBJECT_LETTERS, "letters in the subject")


def public_functions():
    names = set()
    for path, text in texts.items():
        if path.startswith("include/kaon/"):
            names.update(re.findall(r"^KAON_API\s[\w\s*]*\b(kaon_\w+)\(", without_comments(text), re.M))
    return names


def built(build):
    for program in ("kaon", "kaon-bench"):
        path = os.path.join(build, program)
        if not os.access(path, os.X_OK):
            say(f"{path}: not built")
            continue
        text = output(path, "--help")
        commands = re.findall(r"^  ([a-z][a-z0-9-]*) {2,}\S", text, re.M)
        for words in [[]] + [[command] for command in commands]:
            most(" ".join([program, *words, "--help"]), output(path, *words, "--help").count("\n"), HELP_LINES, "lines")
    library = os.path.join(build, "libkaon.so")
    if os.path.exists(library):
        exported = {line.split()[-1] for line in output("nm", "-D", "--defined-only", library).splitlines()}
        for name in sorted(exported ^ public_functions()):
            say(f"{name}: " + ("exported, but in no header" if name in exported else "in a header, but not exported"))


texts = {}


def main():
    files = [path for path in output("git", "ls-files").splitlines() if os.path.exists(path)]
    for path in files:
        if source(path) or path.endswith((".md", ".cff")) or path.startswith("bench/results/"):
            with open(path, encoding="utf-8", errors="replace") as file:
                texts[path] = file.read()
    folders(files)
    pages()
    sources(files)
    interface()
    language()
    commits()
    if len(sys.argv) > 1:
        built(sys.argv[1])
    print(f"check_house: {problems} budgets exceeded" if problems else "check_house: every budget is kept")
    return 1 if problems else 0


sys.exit(main())
