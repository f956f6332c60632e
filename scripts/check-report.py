#!/usr/bin/env python3
"""Checks a report of `ckks-bench run --json`: the shapes asked for, all there, all passed.

usage: scripts/check-report.py [--rejected] REPORT SHAPE...

With --rejected every shape must be rejected, with a reason and without durations.
"""

import json
import sys


def check(report, shapes, rejected):
    """Yields what is wrong."""
    if report["schema"] != "ckks-bench/2":
        yield f"schema {report['schema']}"
    if report["partial"]:
        yield "the report is partial"
    found = [f"{c['d_in']}x{c['d_out']}" for c in report["configurations"]]
    if found != shapes:
        yield f"configurations {found}, expected {shapes}"
    for shape, configuration in zip(found, report["configurations"]):
        verdict = "rejected" if rejected else "passed"
        if configuration["verdict"] != verdict:
            yield f"{shape}: {configuration['verdict']}, {configuration['rejection']}"
        elif rejected:
            if not configuration["rejection"]["reason"]:
                yield f"{shape}: rejected without a reason"
            if configuration["stages"] is not None or configuration["throughput"] is not None:
                yield f"{shape}: rejected and yet with durations"
        else:
            errors = configuration["errors"]
            if not errors["max_abs"] <= errors["limit"]:
                yield f"{shape}: error {errors['max_abs']} above {errors['limit']}"
            if not configuration["security_margin"] >= 0:
                yield f"{shape}: security margin {configuration['security_margin']}"
            stages = {stage["stage"] for stage in configuration["stages"]}
            for stage in ("key-generation", "weight-preparation", "encryption", "decryption"):
                if stage not in stages:
                    yield f"{shape}: no stage {stage}"


def main(arguments):
    rejected = "--rejected" in arguments
    names = [a for a in arguments if a != "--rejected"]
    if len(names) < 2:
        sys.exit(__doc__)
    with open(names[0], encoding="utf-8") as file:
        report = json.load(file)
    problems = list(check(report, names[1:], rejected))
    for problem in problems:
        print(f"{names[0]}: {problem}", file=sys.stderr)
    if problems:
        sys.exit(1)
    verdict = "rejected" if rejected else "passed"
    print(f"report: {', '.join(names[1:])} {verdict}, as expected")


main(sys.argv[1:])
