"""The graph of all audits, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterable

from weft.review.steps.step import AuditStep, AuditSteps


def plan_text(audits: Iterable[AuditSteps]) -> str:
    lines: list[str] = []
    for audit in audits:
        lines += [f"{audit.audit}: {audit.question}", ""]
        for step in audit.steps:
            lines += _step_lines(step)
        lines.append("")
    return "\n".join(lines).rstrip()


def _step_lines(step: AuditStep) -> list[str]:
    spread = f"{step.kind.value} by {', '.join(step.key)}" if step.key else step.kind.value
    lines = [f"  {step.name} ({spread}): {step.does}", f"      from {', '.join(step.inputs)}"]
    if step.columns:
        lines.append(f"      reads {', '.join(step.columns)}")
    if step.schema:
        lines.append(f"      gives {', '.join(part.split()[0] for part in step.schema.split(', '))}")
    if step.when:
        lines.append(f"      if {step.when}")
    return lines


def plan_data(audits: Iterable[AuditSteps]) -> list[dict[str, object]]:
    return [
        {
            "audit": audit.audit,
            "question": audit.question,
            "steps": [_step_data(step) for step in audit.steps],
        }
        for audit in audits
    ]


def _step_data(step: AuditStep) -> dict[str, object]:
    return {
        "name": step.name,
        "kind": step.kind.value,
        "does": step.does,
        "inputs": list(step.inputs),
        "columns": list(step.columns),
        "key": list(step.key),
        "function": f"{step.function.__module__}.{step.function.__qualname__}",
        "schema": step.schema,
        "when": step.when,
    }
