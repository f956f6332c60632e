#!/usr/bin/env python3
"""Checks a report of `ckks-bench run --json`: the shapes asked for, all there, all passed.

With --rejected every shape must be rejected, with a reason and without durations. --plan asks for
a packing of that name; what only `gemm` has is checked wherever it is. With --auto the first reason
of every plan must be that of `--plan auto`, and its choice the cheapest of the estimates. With
--library that library must have computed, in a process of its own.
"""

import argparse
import json
import sys


def check(report, asked):
    """Yields what is wrong."""
    if report["schema"] != "ckks-bench/2":
        yield f"schema {report['schema']}"
    if report["partial"]:
        yield "the report is partial"
    found = [f"{c['d_in']}x{c['d_out']}" for c in report["configurations"]]
    if found != asked.shapes:
        yield f"configurations {found}, expected {asked.shapes}"
    for shape, configuration in zip(found, report["configurations"]):
        verdict = "rejected" if asked.rejected else "passed"
        if configuration["verdict"] != verdict:
            problems = [f"{configuration['verdict']}, {configuration['rejection']}"]
        elif asked.rejected:
            problems = check_rejected(configuration)
        else:
            delivery = report["settings"]["circumstances"]["delivery"]
            problems = list(check_passed(configuration, asked))
            problems += check_plan(configuration, delivery)
        yield from (f"{shape}: {problem}" for problem in problems)


def check_rejected(configuration):
    if not configuration["rejection"]["reason"]:
        yield "rejected without a reason"
    if configuration["stages"] is not None or configuration["throughput"] is not None:
        yield "rejected and yet with durations"


def check_passed(configuration, asked):
    errors = configuration["errors"]
    if not errors["max_abs"] <= errors["limit"]:
        yield f"error {errors['max_abs']} above {errors['limit']}"
    histogram = configuration["error_histogram"]
    counted = sum(histogram["counts"]) + histogram["below"] + histogram["above"]
    outputs = configuration["batch"] * configuration["d_out"] * len(configuration["trials"])
    if counted != outputs or histogram["not_finite"] != 0:
        yield f"the histogram has {counted} errors of {outputs}"
    if not configuration["security_margin"] >= 0:
        yield f"security margin {configuration['security_margin']}"
    stages = {stage["stage"] for stage in configuration["stages"]}
    for stage in ("key-generation", "weight-preparation", "encryption", "decryption"):
        if stage not in stages:
            yield f"no stage {stage}"
    description = configuration["description"]
    if asked.library and description["library"] != asked.library:
        yield f"library {description['library']}, expected {asked.library}"
    if asked.library and not configuration["bytes"]["peak_resident"]:
        yield "no memory of the library's process"
    plan = description["plan"]
    name = plan["packing"]["name"]
    if asked.plan and name != asked.plan:
        yield f"plan {name}, expected {asked.plan}"
    if asked.auto:
        if not plan["reasons"] or not plan["reasons"][0].startswith("auto"):
            yield f"no reason of auto: {plan['reasons'][:1]}"
        estimates = {e["plan"]: e["total_seconds"] for e in plan["estimates"]}
        if set(estimates) != {"diagonal", "gemm"} or min(estimates, key=estimates.get) != name:
            yield f"auto took {name} of {estimates}"


def check_plan(configuration, delivery):
    """What a `gemm` layer sends once, and what it has no need of; the contrary for others."""
    sizes, plan = configuration["bytes"], configuration["description"]["plan"]
    products = plan["mask_products"]
    if plan["packing"]["name"] != "gemm":
        if products is not None or sizes["layer_download"] != 0:
            yield f"W·A without gemm: {products}, {sizes['layer_download']} bytes"
        return
    if sizes["keys"] != 0 or configuration["keys"]["galois_keys"] != 0 or plan["rotation_steps"]:
        yield f"gemm with keys: {sizes['keys']} bytes"
    if plan["counts"]["multiply_adds"] <= 0 or plan["counts"]["key_switches"] != 0:
        yield f"counts {plan['counts']}"
    if products["delivery"] != delivery:
        yield f"W·A is {products['delivery']}, expected {delivery}"
    once = products["bytes"] if delivery == "cached" else 0
    if sizes["layer_download"] != once:
        yield f"{sizes['layer_download']} bytes downloaded once, expected {once}"
    if delivery == "sent" and sizes["download"] <= products["bytes"]:
        yield f"a download of {sizes['download']} bytes has no W·A of {products['bytes']} in it"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rejected", action="store_true")
    parser.add_argument("--plan")
    parser.add_argument("--auto", action="store_true")
    parser.add_argument("--library")
    parser.add_argument("report")
    parser.add_argument("shapes", nargs="+")
    asked = parser.parse_args()
    with open(asked.report, encoding="utf-8") as file:
        report = json.load(file)
    problems = list(check(report, asked))
    for problem in problems:
        print(f"{asked.report}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    verdict = "rejected" if asked.rejected else "passed"
    print(f"report: {', '.join(asked.shapes)} {verdict}, as expected")


main()
