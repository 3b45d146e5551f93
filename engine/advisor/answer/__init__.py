"""An ``Outcome`` under the keys of the JSON contract: the answer, its trace, its types and their JSON Schema."""
