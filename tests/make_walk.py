"""make_walk.py INCLUDE OUTPUT - writes the calls of test_walk.c: every function that a header below INCLUDE declares, with a wrong value in
each place. A function whose arguments are not known here, or whose valid call fails, fails the test: give its arguments in CALLS."""
import os
import re
import sys

OBJECTS = ("context", "lattice", "space", "vector", "gauge", "operator", "matrix", "solver", "multishift", "rational_function")
# Valid values: of a type, of a name (whatever the function), of a function's argument. C expressions; w is the fixture of test_walk.c.
TYPES = {
    "kaon_context": ["w.ctx"], "kaon_lattice": ["w.lattice"], "kaon_space": ["w.space"], "kaon_vector": ["w.x", "w.y", "w.z"],
    "kaon_gauge": ["w.links", "w.fat", "w.naik"], "kaon_operator": ["w.dirac"], "kaon_matrix": ["w.matrix"], "kaon_solver": ["w.solver"],
    "kaon_multishift": ["w.shifts"], "kaon_rational_function": ["w.function"], "double": ["w.numbers", "w.more"], "int64_t": ["w.longs"],
    "int32_t": ["w.ints"], "int": ["w.zeros", "w.ints", "w.more_ints"], "size_t": ["w.sizes"], "char": ["w.text"],
}
NAMES = {
    "columns": "1", "nrhs": "1", "reals": "1", "numbers": "1", "complex_numbers": "1", "sites": "4", "places": "w.places", "steps": "2",
    "sweeps": "1", "shifts": "1", "terms": "3", "ranks": "1", "threads": "1", "bits": "64", "n": "1", "room": "sizeof w.text",
    "lo": "0.1", "hi": "10", "re": "0.5", "eps": "0.1", "x": "1", "extents": "w.extents", "path": "w.out", "user": "NULL",
    "sink": "NULL", "source": "NULL", "communicator": "NULL", "arrays": "w.arrays", "sigma": "w.sigma", "name": "\"laplace2d:4\"",
}
CALLS = {
    "kaon_ranks_grid": {"grid": "w.ints"},
    "kaon_options_init": {"kind": "KAON_OPTIONS_SOLVER", "options": "&w.solver_options", "size": "sizeof w.solver_options"},
    "kaon_options_parse": {"kind": "KAON_OPTIONS_SOLVER", "options": "&w.solver_options", "text": "\"tol=1e-5\""},
    "kaon_options_check": {"kind": "KAON_OPTIONS_SOLVER", "options": "&w.solver_options"},
    "kaon_options_print": {"kind": "KAON_OPTIONS_SOLVER", "options": "&w.solver_options", "text": "w.text"},
    "kaon_context_set_tuning": {"tuning": "NULL"},
    "kaon_staggered_read_links": {"path": "w.vectors_file"},
    "kaon_staggered_read_vector": {"vector": "w.chi", "path": "w.vectors_file"},
    "kaon_staggered_read_vectors": {"vector": "w.chi", "path": "w.vectors_file"},
    "kaon_staggered_write_vectors": {"vector": "w.chi", "text": "\"title\""},
    "kaon_staggered_file_probe": {"path": "w.vectors_file"},
    "kaon_staggered_create": {"naik": "NULL"},
    "kaon_staggered_update": {"M": "w.staggered"},
    "kaon_staggered_hop": {"M": "w.staggered", "in": "w.chi_odd", "out": "w.chi_even"},
    "kaon_staggered_even_odd": {"M": "w.staggered"},
    "kaon_staggered_check_links": {"fat": "w.improved[0]", "naik": "w.improved[1]", "thin": "w.own"},
    "kaon_staggered_fold": {"steps": "1"},
    "kaon_dirac_create_clover": {"term": "w.numbers"},
    "kaon_dirac_set_clover": {"M": "w.given", "term": "w.numbers"},
    "kaon_gauge_import_factors": {"factors": "&w.factors"},
    "kaon_dirac_hop": {"in": "w.odd", "out": "w.even"},
    "kaon_dirac_site": {"in": "w.even", "out": "w.even"},
    "kaon_vector_copy_parity": {"to": "w.even", "from": "w.x"},
    "kaon_dirac_clover_logdet": {"M": "w.clover"},
    "kaon_operator_prepare": {"R": "w.reduced", "b": "w.x", "reduced_b": "w.even"},
    "kaon_operator_reconstruct": {"R": "w.reduced", "reduced_x": "w.even", "b": "w.x", "x": "w.y"},
    "kaon_operator_create_shell": {"apply": "walk_shell_apply"},
    "kaon_shell_changed": {"A": "w.shell"},
    "kaon_shell_create": {"range": "NULL", "methods": "&w.methods"},
    "kaon_precond_jacobi": {"A": "w.laplace"},
    "kaon_precond_chebyshev": {"A": "w.laplace"},
    "kaon_precond_auto": {"A": "w.laplace", "method": "-1"},
    "kaon_precond_chebyshev_interval": {"K": "w.chebyshev"},
    "kaon_precond_describe": {"K": "w.ic0"},
    "kaon_schwarz_describe": {"K": "w.schwarz", "options": "&w.schwarz_options"},
    "kaon_schwarz_describe_lags": {"K": "w.schwarz"},
    "kaon_multigrid_create": {"options": "&w.multigrid_options"},
    "kaon_multigrid_plan": {"grid": "w.ones"},
    "kaon_multigrid_describe": {"K": "w.multigrid"},
    "kaon_multigrid_measure": {"K": "w.multigrid"},
    "kaon_multigrid_update": {"K": "w.multigrid"},
    "kaon_multigrid_solved": {"K": "w.multigrid"},
    "kaon_multigrid_save": {"K": "w.multigrid"},
    "kaon_multigrid_load": {"options": "&w.multigrid_options", "path": "w.multigrid_file"},
    "kaon_multigrid_probe": {"path": "w.multigrid_file", "options": "&w.multigrid_options"},
    "kaon_spectrum_estimate": {"A": "w.laplace"},
    "kaon_kaczmarz_reduce": {"A": "w.laplace"},
    "kaon_kaczmarz_preconditioner": {"A": "w.laplace"},
    "kaon_kaczmarz_describe": {"reduced": "w.kaczmarz"},
    "kaon_solver_relaxation": {"solver": "w.relaxation"},
    "kaon_solver_history": {"history": "w.numbers", "count": "w.ints"},
    "kaon_forecast": {"solutions": "(kaon_vector *const[]){w.z}"},
    "kaon_remedies": {"failure": "&w.failure", "remedies": "w.remedies"},
    "kaon_multishift_create": {"A": "w.normal"},
    "kaon_multishift_set_tol": {"tol": "w.sigma"},
    "kaon_rational_create": {"A": "w.normal", "r": "&w.rational"},
    "kaon_rational_read": {"path": "w.rational_file", "r": "&w.rational"},
    "kaon_rational_inverse_root": {"r": "&w.rational"},
    "kaon_rational_value": {"r": "&w.rational"},
    "kaon_correlator_pion": {"propagator": "w.twelve"},
    "kaon_correlator_rho": {"propagator": "w.twelve"},
    "kaon_condensate_measure": {"sources": "w.chi", "solutions": "w.chi"},
    "kaon_source_corner": {"source": "w.chi"},
    "kaon_gauge_read": {"path": "w.gauge_file"},
    "kaon_gauge_file_probe": {"path": "w.gauge_file"},
    "kaon_gauge_file_read": {"path": "w.gauge_file"},
    "kaon_gauge_file_write": {"content": "&w.content"},
    "kaon_propagator_file_write": {"options": "&w.propagator_options"},
    "kaon_propagator_file_probe": {"path": "w.propagator_file"},
    "kaon_propagator_file_read": {"path": "w.propagator_file"},
    "kaon_file_format_parse": {"name": "\"ildg\"", "format": "&w.format"},
    "kaon_fatten_action_coefficients": {"coefficients": "&w.coefficients"},
    "kaon_fatten_paths": {"coefficients": "&w.coefficients"},
    "kaon_vector_import_ordered": {"array": "w.numbers", "bytes": "256 * 24 * sizeof(double)"},
    "kaon_vector_export_ordered": {"array": "w.numbers", "bytes": "256 * 24 * sizeof(double)"},
    "kaon_matrix_create_csr": {"arrays": "&w.csr"},
    "kaon_matrix_create_triplets": {"arrays": "&w.triplets"},
    "kaon_matrix_create_ldu": {"arrays": "&w.ldu"},
    "kaon_matrix_read": {"path": "w.matrix_file"},
    "kaon_matrix_file_query": {"path": "w.matrix_file"},
    "kaon_matrix_write": {"path": "w.matrix_out"},
    "kaon_matrix_write_as": {"path": "w.matrix_out"},
    "kaon_matrix_set_null_space": {"count": "0", "vectors": "NULL"},
    "kaon_matrix_project_rhs": {"matrix": "w.closed", "b": "w.closed_rows"},
    "kaon_matrix_check_consistency": {"A": "w.laplace", "b": "w.rows", "x": "w.rows", "columns": "w.consistency"},
    "kaon_array_read": {"path": "w.array_file", "rows": "w.longs", "columns": "w.more_longs", "reals": "w.ints"},
    "kaon_array_write": {"path": "w.matrix_out", "rows": "2"},
    "kaon_operator_cost": {"cost": "&w.cost"},
    "kaon_context_traffic": {"traffic": "&w.traffic"},
}
NOT_CALLED = {  # name: the arguments that may be wrong without starting what a test must not start
    "kaon_context_create_ranks": ("ctx",),  # MPI
}
FAILS = {"kaon_staggered_read_links"}  # no function writes what it reads


def split(text):
    """Arguments of a list, at commas outside of brackets."""
    parts, depth = [""], 0
    for c in text:
        depth += (c in "([") - (c in ")]")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(p.split()) for p in parts if p.strip() not in ("", "void")]


class Argument:
    def __init__(self, text):
        found = re.fullmatch(r"(.*?)\(\*(\w+)\)(\[\d+\])", text) or re.fullmatch(r"(.*?)(\w+)((?:\[\w*\])?)", text)
        kind, self.name, dims = found.groups()
        self.kind = kind.strip()
        self.type = re.sub(r"\bconst\b|\*|\s", "", kind)
        self.stars = self.kind.count("*") + bool(dims)
        self.object = self.type[5:] if self.type.startswith("kaon_") and self.type[5:] in OBJECTS else None


class Header:
    def __init__(self, folder):
        self.functions, self.enums, self.sized, self.callbacks, self.options = [], set(), set(), set(), {}
        docs, declared = {}, 0
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".h"):
                continue
            with open(os.path.join(folder, name)) as file:
                text = file.read()
            self.enums |= set(re.findall(r"\} (kaon_\w+);", "".join(re.findall(r"typedef enum \w+ \{[^}]*\} \w+;", text))))
            self.sized |= set(re.findall(r"typedef struct (\w+) \{\s*size_t size;", text))
            self.callbacks |= set(re.findall(r"typedef \w[\w ]*[ *](kaon_\w+)\(", text))
            self.options.update(re.findall(r"sizeof\((kaon_\w+)\), KAON_OPTIONS_VERSION\((KAON_OPTIONS_\w+)", text))
            for doc, result, function, arguments in re.findall(
                    r"/\*\*((?:(?!\*/).)*)\*/\s*KAON_API\s+([\w\s*]*?)(\w+)\(([^;]*)\);", text, re.S):
                self.functions.append((function, " ".join(result.split()), [Argument(a) for a in split(arguments)]))
                docs[function] = " ".join(doc.replace("\n *", " ").split())
            declared += len(re.findall(r"^KAON_API", text, re.M))
        if declared != len(self.functions):
            sys.exit(f"{declared} functions are declared, but {len(self.functions)} have a comment")
        self.docs = {f: d + " ".join(docs.get(g, "") for g in re.findall(r"(kaon_\w+)\(\)", d)) for f, d in docs.items()}

    def may_be_null(self, function, argument):
        """The function's comment, or one that it refers to, says what NULL means."""
        doc = self.docs[function]
        return "NULL" in doc and re.search(rf"\b{argument}\b", doc) is not None


class Walk:
    def __init__(self, header, out):
        self.h, self.out = header, out

    def valid(self, function, arguments):
        values, used = [], {}
        for a in arguments:
            value = CALLS.get(function, {}).get(a.name)
            if value is None and a.type == "kaon_reconstruct" and a.stars == 0:
                value = "KAON_RECONSTRUCT_18"
            if value is None and a.type in self.h.enums and a.stars == 0:
                value = f"({a.type})0"
            if value is None and a.type in self.h.callbacks:
                value = "walk_" + a.type[5:]
            if value is None and a.stars == 2 and (a.object or a.type in ("double", "char")):
                value = "(void *)&made" if a.object else "(double **)(void *)&taken"
            if value is None and a.stars == 1 and a.type.startswith("kaon_") and not a.object:
                value = "&report_" + a.name if a.type in self.h.sized else None
                if a.type == "kaon_column_report":
                    value = "w.reports"
            if value is None:
                value = NAMES.get(a.name) if a.stars == 0 or a.name in ("extents", "path", "arrays", "sigma", "name", "user", "sink",
                                                                        "communicator") or (a.name == "source" and not a.object) else None
            if value is None and a.stars > 0 and a.type in TYPES:
                known = TYPES[a.type]
                value = known[min(used.get(a.type, 0), len(known) - 1)]
                used[a.type] = used.get(a.type, 0) + 1
            if value is None and a.stars == 0 and a.type in ("int", "double", "int64_t", "uint64_t", "size_t", "kaon_precision"):
                value = "0"
            if value is not None and value.startswith("w.") and a.type in ("void", "double"):
                value = "(void *)" + value
            values.append(value if value is not None else "?")
        return values

    def wrong(self, function, a):
        """(what, statements before, value, expectation) of each wrong value."""
        if a.type == "void" and a.name in ("user", "sink", "source", "communicator"):
            return
        if a.stars > 0 or a.type in self.h.callbacks:
            yield "NULL", "", "NULL", "MAY_BE_NULL" if self.h.may_be_null(function, a.name) else "ARGUMENT"
        if a.stars == 1 and a.object:
            yield "another one", f"for (int i = 0; i < w.{a.object}_count; i++)", f"({a.kind})w.{a.object}s[i]", "ANY"
        elif a.stars == 1 and a.type in self.h.sized:
            for size, version in ((0, 0), (3, 1), (1 << 40, 1)):
                yield f"of size {size}", "", f"stranger({size}, {version})", "ARGUMENT"
            if a.type in self.h.options and "const" in a.kind:
                own = self.h.options[a.type]
                yield "of another version", "", f"stranger(sizeof({a.type}), KAON_OPTIONS_VERSION({own}, 99))", "ARGUMENT"
                yield "of another kind", f"for (int k = 0; k <= KAON_OPTIONS_PROPAGATOR_WRITE; k++) if (k != {own})", \
                    f"stranger(sizeof({a.type}), KAON_OPTIONS_VERSION(k, 1))", "ARGUMENT"
        elif a.stars == 0 and a.type in self.h.enums:
            for value in (-1, 99):
                yield str(value), "", f"({a.type}){value}", "REFUSED"
        elif a.stars == 0 and a.type in ("int", "int64_t"):
            yield "-1", "", "-1", "ANY"
        elif a.stars == 0 and a.type == "double":
            yield "NaN", "", "NAN", "ANY"

    def call(self, function, result, arguments, values, what, before, expectation):
        made = next((a for a in arguments if a.object and a.stars == 2 and "const" not in a.kind and not function.endswith("_destroy")), None)
        call = f"{function}({', '.join(values)})"
        if result != "kaon_status":
            void = f"{call};" if result == "void" else f"(void){call};"
            self.out.append(f"  {before} {{ begin(\"{function}\", \"{what}\"); {void} }}")
            return
        destroy = f"kaon_{made.object if made.object != 'rational_function' else 'rational'}_destroy" if made else "NULL"
        address = next((v for a, v in zip(arguments, values) if a is made), "NULL")
        taken = any(v.startswith("(double **)") for v in values)
        given = "&made" if made and address != "NULL" else "NULL"
        self.out.append(f"  {before} {{ begin(\"{function}\", \"{what}\"); made = (void *)&made; taken = NULL; "
                        f"end({call}, {expectation}, {given}); "
                        + (f"if (made != NULL && made != (void *)&made) {destroy}((void *)&made); " if given != "NULL" else "")
                        + ("free(taken); " if taken else "") + "}")

    def function(self, function, result, arguments):
        values = self.valid(function, arguments)
        self.out.append(f"static void walk_{function}(void **state) {{\n  void *made = NULL, *taken = NULL;\n  (void)state, (void)made, (void)taken;")
        if "?" in values:
            unknown = ", ".join(a.name for a, v in zip(arguments, values) if v == "?")
            self.out.append(f"  fail_msg(\"tests/make_walk.py does not know a value for {unknown} of {function}\");\n}}\n")
            return
        for a, v in zip(arguments, values):
            if v == "&report_" + a.name:
                self.out.append(f"  {a.type} report_{a.name} = {self.initial(a.type)};")
        only = NOT_CALLED.get(function)
        if function.endswith("_destroy"):
            self.out.append(f"  {function}(NULL);\n  made = NULL;\n  {function}((void *)&made);\n}}\n")
            return
        if only is None:
            self.call(function, result, arguments, values, "valid", "", "ANY" if function in FAILS else "OK")
        for i, a in enumerate(arguments):
            if only is not None and a.name not in only:
                continue
            for what, before, value, expectation in self.wrong(function, a):
                self.call(function, result, arguments, values[:i] + [value] + values[i + 1:], f"{a.name} {what}", before, expectation)
        self.out.append("  finish();\n}\n")

    @staticmethod
    def initial(kind):
        words = re.sub(r"^kaon_", "", kind).upper()
        return f"KAON_{words}_INIT"


def main():
    header, out = Header(sys.argv[1]), []
    walk = Walk(header, out)
    for function, result, arguments in header.functions:
        walk.function(function, result, arguments)
    out.append("static const struct CMUnitTest walks[] = {")
    out += [f"    cmocka_unit_test_setup(walk_{f}, reset)," for f, _, _ in header.functions]
    out.append("};")
    with open(sys.argv[2], "w") as file:
        file.write("/* Made by tests/make_walk.py. */\n" + "\n".join(out) + "\n")


main()
