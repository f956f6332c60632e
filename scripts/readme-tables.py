#!/usr/bin/env python3
"""Prints the tables of README.md from the measurements in docs/results (scripts/results.sh).

usage: scripts/readme-tables.py [--check | --write] [FOLDER]

Without a flag the tables are printed. --check fails when README.md has other ones between its
markers, --write puts them there. FOLDER replaces docs/results.
"""

import difflib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
# The layer of the table of batches.
LAYER = (2048, 1024)


class Wrong(Exception):
    """The measurements are not there, or cannot be published."""


def load(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}; scripts/results.sh makes it") from error


def passed(report, where):
    """The configurations of a report, all of which must have passed."""
    if report["partial"]:
        raise Wrong(f"{where} is partial")
    for configuration in report["configurations"]:
        if configuration["verdict"] != "passed":
            shape = f"{configuration['d_in']}x{configuration['d_out']}"
            raise Wrong(f"{where}: {shape} {configuration['verdict']}")
    return report["configurations"]


def median(configuration, stage):
    for entry in configuration["stages"]:
        if entry["stage"] == stage:
            return entry["median_seconds"]
    raise Wrong(f"no stage {stage}")


def machine(report, kernels, trials):
    """The machine and the build in one line."""
    host, build = report["host"], report["build"]
    threads = report["settings"]["threads"]
    commit = (build["commit"] or "no commit")[:7] + (" with changes" if build["dirty"] else "")
    return (
        f"{host['cpu_model']}, {plural(host['cores'], 'core')} of it, "
        f"**{plural(threads, 'thread')}**, {kernels}, median of {trials}, commit {commit}:"
    )


def plural(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def exponent(value):
    digits, power = f"{value:.1e}".split("e")
    return f"{digits}e{int(power)}"


def size(count):
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            value = count / factor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    return f"{count} B"


def rate(value):
    """Three digits, thousands apart."""
    if value < 100:
        return f"{value:.3g}"
    digits = len(str(int(value)))
    return f"{round(value, 3 - digits):,.0f}"


def seconds(value):
    for unit, factor in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= factor:
            scaled = value / factor
            return f"{scaled:.0f} {unit}" if scaled >= 100 else f"{scaled:.3g} {unit}"
    return f"{value:.1e} s"


def one_vector(folder):
    """One vector at a time."""
    whole = load(folder / "one-vector.json")
    split = load(folder / "one-vector-ahead.json")
    pairs = [passed(whole, "one-vector.json"), passed(split, "one-vector-ahead.json")]
    shapes = [[(c["d_in"], c["d_out"]) for c in side] for side in pairs]
    if shapes[0] != shapes[1]:
        raise Wrong("one-vector.json and one-vector-ahead.json have different shapes")
    kernels = pairs[0][0]["description"]["kernels"]
    yield machine(whole, kernels, whole["settings"]["trials"])
    yield ""
    yield (
        "| shape | evaluation | online part with `--ahead` | plain product | largest error "
        "| upload | download | keys |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for a, b in zip(*pairs):
        sizes = a["bytes"]
        largest = max(a["errors"]["max_abs"], b["errors"]["max_abs"])
        yield (
            f"| {a['d_in']} × {a['d_out']} "
            f"| {1e3 * median(a, 'evaluation'):.2f} ms "
            f"| {1e3 * median(b, 'online-evaluation'):.2f} ms "
            f"| {1e3 * median(a, 'plain-product-f32'):.2f} ms "
            f"| {exponent(largest)} "
            f"| {sizes['upload'] / 1e3:.1f} kB "
            f"| {sizes['download'] / 1e3:.1f} kB "
            f"| {sizes['keys'] / 1e6:.2f} MB |"
        )


def sweep(path):
    """The header of a sweep's file, and its points."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        header, *records = (json.loads(line) for line in lines)
    except (OSError, ValueError) as error:
        raise Wrong(f"{path}: {error}; scripts/results.sh makes it") from error
    return header, records


def points(folder):
    """The header of the sweep; by layer, batch and plan the reports and configurations."""
    path = folder / "batches.jsonl"
    header, records = sweep(path)
    layers = {}
    for record in records:
        if record["outcome"]["kind"] != "finished":
            raise Wrong(f"{path}: {record['key']} {record['outcome']['kind']}")
        (configuration,) = passed(record["report"], record["key"])
        point = record["point"]
        batches = layers.setdefault((point["d_in"], point["d_out"]), {})
        batches.setdefault(point["batch"], {})[point["plan"]] = (record["report"], configuration)
    return header, layers


def crossover(batches):
    """The smallest batch from which gemm stays ahead, end to end; None where there is none."""
    found = None
    for batch in sorted(batches, reverse=True):
        rates = {p: c["throughput"]["end_to_end"] for p, (_, c) in batches[batch].items()}
        if rates["gemm"] <= rates["diagonal"]:
            break
        found = batch
    return found


def many_vectors(folder):
    """gemm against diagonal over the batch."""
    header, layers = points(folder)
    if LAYER not in layers:
        raise Wrong(f"batches.jsonl has no layer {LAYER[0]}x{LAYER[1]}")
    for shape, batches in layers.items():
        for batch, plans in batches.items():
            if set(plans) != {"diagonal", "gemm"}:
                raise Wrong(f"batches.jsonl: {shape[0]}x{shape[1]} batch {batch}: {sorted(plans)}")
    batches = layers[LAYER]
    largest = batches[max(batches)]
    report, gemm = largest["gemm"]
    kernels = gemm["description"]["kernels"]
    yield (
        f"{LAYER[0]} × {LAYER[1]}. "
        + machine(report, kernels, f"up to {header['settings']['trials']}")
    )
    yield ""
    yield (
        "| vectors | evaluation: `gemm` | `diagonal` | end to end: `gemm` | `diagonal` "
        "| bytes moved: `gemm` | `diagonal` | error: `gemm` | `diagonal` |"
    )
    yield "|" + "---|" * 9
    for batch in sorted(batches):
        pair = [batches[batch][plan][1] for plan in ("gemm", "diagonal")]
        row = [f"{batch:,}"]
        row += [f"{rate(c['throughput']['evaluation'])}/s" for c in pair]
        row += [f"{rate(c['throughput']['end_to_end'])}/s" for c in pair]
        for c in pair:
            moved = c["bytes"]["upload"] + c["bytes"]["download"]
            share = moved / c["bytes"]["weights_bf16"]
            times = f"{share:.2g}" if share < 10 else f"{share:.0f}"
            row.append(f"{size(moved)} ({times} W)")
        row += [exponent(c["errors"]["max_abs"]) for c in pair]
        yield "| " + " | ".join(row) + " |"
    once = gemm["bytes"]
    keys = largest["diagonal"][1]["bytes"]["keys"]
    yield ""
    yield (
        f"W is {size(once['weights_bf16'])} as bf16. Besides, once for each layer, a `gemm` client "
        f"downloads {size(once['layer_download'])}, and once for each client a `diagonal` client "
        f"uploads {size(keys)} of keys."
    )
    for shape, batches in sorted(layers.items()):
        found = crossover(batches)
        words = (
            f"no measured batch: `gemm` is not ahead at {max(batches):,} vectors"
            if found is None
            else f"{found:,} vectors on"
            + (", the smallest batch measured" if found == min(batches) else "")
        )
        yield f"`gemm` is faster end to end for {shape[0]} × {shape[1]} from {words}."


def libraries(folder):
    """One vector through every library that was installed."""
    path = folder / "libraries.jsonl"
    _, records = sweep(path)
    layers, versions, reports = {}, {}, []
    for record in records:
        point, outcome = record["point"], record["outcome"]["kind"]
        if outcome == "not-available":
            continue
        if outcome != "finished":
            raise Wrong(f"{path}: {record['key']} {outcome}")
        (configuration,) = record["report"]["configurations"]
        reports.append(record["report"])
        if configuration["description"]:
            versions[point["library"]] = configuration["description"]
        shape = (point["d_in"], point["d_out"])
        layers.setdefault(shape, {})[(point["library"], point["batch"])] = configuration
    if "native" not in versions:
        raise Wrong(f"{path}: native was not measured")
    report = reports[0]
    kernels = f"plan `diagonal`, native with {versions['native']['kernels']}"
    yield machine(report, kernels, f"up to {report['settings']['trials']}")
    yield ""
    names = sorted(versions, key=lambda name: (name != "native", name))
    batches = sorted({batch for layer in layers.values() for _, batch in layer})
    yield "| shape | vectors | " + " | ".join(f"`{name}`" for name in names) + " |"
    yield "|---|---|" + "---|" * len(names)
    for shape, layer in layers.items():
        for batch in batches:
            base = layer.get(("native", batch))
            cells = [evaluation(layer.get((name, batch)), base) for name in names]
            yield f"| {shape[0]} × {shape[1]} | {batch} | " + " | ".join(cells) + " |"
    yield ""
    for name in names:
        described = versions[name]
        parameters = described["parameters"]
        errors = [
            c["errors"]["max_abs"]
            for layer in layers.values()
            for (library, _), c in layer.items()
            if library == name and c["verdict"] == "passed"
        ]
        largest = f", largest error {exponent(max(errors))}" if errors else ""
        yield (
            f"- `{name}` {described['version']}: {parameters['name']}, N = "
            f"{parameters['ring_degree']}, log2(QP) = {parameters['log_qp']:.1f} of "
            f"{parameters['security_limit']}{largest}."
        )


def evaluation(configuration, native):
    """The time of an evaluation, and how many times native's it is."""
    if configuration is None:
        return "–"
    if configuration["verdict"] != "passed":
        return "rejected"
    time = median(configuration, "evaluation")
    if configuration is native or native is None or native["verdict"] != "passed":
        return seconds(time)
    ratio = time / median(native, "evaluation")
    return f"{seconds(time)} ({ratio:.0f}×)" if ratio >= 9.5 else f"{seconds(time)} ({ratio:.1f}×)"


def model(folder):
    """The budget of a model."""
    others = ("one-vector", "sealing")
    found = [p for p in sorted(folder.glob("*.json")) if not p.name.startswith(others)]
    if len(found) != 1:
        raise Wrong(f"{folder} should have the budget of one model; scripts/results.sh makes it")
    budget = load(found[0])
    if budget["schema"] != "ckks-bench-model/1" or budget["partial"]:
        raise Wrong(f"{found[0]} is no whole budget of a model")
    decode, prefill, memory = budget["decode"], budget["prefill"], budget["memory"]
    for phase in filter(None, (decode, prefill)):
        if phase["missing"]:
            raise Wrong(f"{found[0]}: no figures for {', '.join(phase['missing'])}")
    total = decode["total"]
    threads = plural(budget["settings"]["threads"], "thread")
    line = (
        f"{budget['model']['name']}, all linear layers, {threads}: **a token takes the server "
        f"{seconds(total['server_seconds'])}** and the client {seconds(total['client_seconds'])} "
        f"({total['evaluations']:,} products), {size(total['upload_bytes'])} up, "
        f"{size(total['download_bytes'])} down and {total['round_trips']} round trips"
    )
    if prefill:
        total, count = prefill["total"], prefill["vectors"]
        line += (
            f"; in a prompt of {count}, {seconds(total['server_seconds'] / count)} and "
            f"{seconds(total['client_seconds'] / count)} a token"
        )
    yield (
        f"{line}. The server holds {size(memory['prepared_bytes'])} "
        f"({size(memory['weights_bf16_bytes'])} as bf16)."
    )
    for phase in filter(None, (decode, prefill)):
        if phase["extrapolated"]:
            yield f"Measured in a slice: {', '.join(phase['extrapolated'])}."


DESTINATIONS = {
    "warm": "memory in use already",
    "fresh-huge": "fresh memory, 2 MiB pages",
    "shm": "/dev/shm",
    "huge-tmpfs": "tmpfs with `huge=always`",
}


def sealing(folder):
    """Opening and sealing of weights."""
    path = folder / "sealing.json"
    report = load(path)
    if report["schema"] != "weights-seal-bench":
        raise Wrong(f"{path} is no report of weights-seal bench")
    cases = {case["id"]: case for case in report["cases"]}
    host, build, subject = report["host"], report["build"], report["subject"]
    threads = min(2, host["cores"])
    commit = (build["commit"] or "no commit")[:7] + (" with changes" if build["dirty"] else "")

    def rates(name):
        """One thread and more, in GB/s."""
        texts = []
        for count in range(1, threads + 1):
            case = cases.get(f"{name}/{count}t")
            rate = case and case["bytes_per_second"]
            texts.append(f"{rate / 1e9:.2f}" if rate else "–")
        return " / ".join(texts)

    yield (
        f"{host['cpu_model']}, {plural(host['cores'], 'core')} of it, a file of "
        f"{size(subject['bytes'])} in the page cache, {report['conditions']['suite']} by "
        f"{report['conditions']['provider']}, GB/s with one / two threads, median of "
        f"{report['rounds']} rounds but the first, commit {commit}:"
    )
    yield ""
    yield "| to | plain file | sealed, tags checked | sealed, tags and signed hashes checked |"
    yield "|---|---|---|---|"
    for name, words in DESTINATIONS.items():
        ways = (rates(f"open/{name}/{way}") for way in ("plain", "key-holders", "publisher"))
        yield f"| {words} | {' | '.join(ways)} |"
    yield f"| the disk (sealing, without fsync) | {rates('floor/copy')} | – | {rates('seal')} |"
    added = report["overhead"]
    share = (added["sealed_bytes"] + added["documents_bytes"]) / added["plain_bytes"] - 1
    yield ""
    yield (
        f"Sealing adds {100 * share:.4f} % of bytes. A tensor of 23 MB takes "
        f"{seconds(cases[f'operation/tensor/{threads}t']['summary']['median_seconds'])}, new "
        "recipients for 100 files "
        f"{seconds(cases['operation/rewrap']['summary']['median_seconds'])}."
    )


TABLES = {
    "one-vector": one_vector,
    "many-vectors": many_vectors,
    "libraries": libraries,
    "model": model,
    "sealing": sealing,
}


def replaced(text, tables):
    """README.md with these tables between its markers."""
    for name, table in tables.items():
        pattern = re.compile(
            rf"(<!-- results: {name} -->\n)(.*?)(<!-- end of results -->)", re.DOTALL
        )
        text, count = pattern.subn(lambda found: found[1] + table + found[3], text)
        if count != 1:
            raise Wrong(f"README.md has the marker 'results: {name}' {count} times")
    return text


def main(arguments):
    flags = [a for a in arguments if a.startswith("-")]
    names = [a for a in arguments if not a.startswith("-")]
    if len(names) > 1 or len(flags) > 1 or not set(flags) <= {"--check", "--write"}:
        sys.exit(__doc__)
    folder = pathlib.Path(names[0]) if names else ROOT / "docs" / "results"
    tables = {name: "\n".join(table(folder)) + "\n" for name, table in TABLES.items()}
    if not flags:
        print("\n".join(tables.values()), end="")
        return
    old = README.read_text(encoding="utf-8")
    new = replaced(old, tables)
    if flags == ["--write"]:
        README.write_text(new, encoding="utf-8")
    elif old != new:
        lines = difflib.unified_diff(
            old.splitlines(), new.splitlines(), "README.md", str(folder), lineterm="", n=0
        )
        print("\n".join(lines), file=sys.stderr)
        raise Wrong("README.md has other figures; scripts/readme-tables.py --write corrects it")
    else:
        print("README.md has the figures of docs/results")


try:
    main(sys.argv[1:])
except Wrong as wrong:
    sys.exit(f"results: {wrong}")
