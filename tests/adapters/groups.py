"""Answers the vectors of groups: one table row per line in, its results per line out."""

import json
import sys
from collections.abc import Mapping
from typing import Any

from hearth.resources.heat.adjustment import Adjustment, AdjustmentType, Bounds
from hearth.resources.heat.batches import Course, batches


def answer(row: Mapping[str, Any]) -> dict[str, Any]:
    """The results of one row of a table."""
    match row["table"]:
        case "adjustments":
            change = Adjustment(row["adjustment"], AdjustmentType(row["type"]), row["min_step"])
            return {"result": change.size(row["current"], Bounds(row["min"], row["max"]))}
        case "batches":
            course = Course(row["target"], row["max_batch_size"], row["min_in_service"])
            return {
                kind: [list(step) for step in batches(course, row["current"], by_index=by_index)]
                for kind, by_index in (("index_group", True), ("scaling_group", False))
            }
        case unknown:
            return {"error": f"there is no table {unknown}"}


def main() -> None:
    """Answer until the end of the input."""
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], "answer": answer(asked["vector"])}), flush=True)


if __name__ == "__main__":
    main()
