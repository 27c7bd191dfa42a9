"""performance_model.py - the table of docs/performance.md for rows that kaon bench scaling --model foretold."""


def table(rows, words):
    """What kaon bench scaling --model foretells: a line a number of ranks, a column a method."""
    model, problem = rows[0]["model"], rows[0]["problem"]
    methods = words.unique((row["bench"][len("model-"):], row["precision"]) for row in rows)
    lines = {}
    for row in rows:
        cell = f"{words.number(row['seconds'])} s, {row['iterations']:.0f} steps, {words.number(row['gflops_rank'])} GFLOPS a rank"
        lines.setdefault((str(row["ranks"]), words.extents(row["grid"]), words.extents(words.local(row))), {})[row["bench"][6:], row["precision"]] = cell
    wire = f"{words.number(1e-9 * model['bandwidth'])} GB/s" if model["bandwidth"] else "no time for bytes"
    text = (f"Fitted on one node: a message {words.number(1e6 * model['latency'])} us and {wire} a rank; at the faces "
            f"{', '.join(words.number(1e6 * x) for x in model['fixed'])} us a hop (double, single, half) and {words.number(1e12 * model['face'])} us a MB; "
            f"a sum {words.number(1e6 * model['sum'])} us for each doubling of the ranks. Assumed: nodes of {model['node']} ranks, between them "
            f"{words.number(1e6 * model['network_latency'])} us and {words.number(1e-9 * model['network_bandwidth'])} GB/s a rank. "
            f"Steps are those of {problem}, lattice {words.extents(rows[0]['lattice'])}.")
    return text + "\n\n" + words.markdown(["ranks", "grid", "a rank's part", *(" ".join(method) for method in methods)],
                                    [[*key, *(cells.get(method, "-") for method in methods)] for key, cells in lines.items()])
