"""What every room stands on: values, errors, positioned YAML, canonical JSON, layers, constants with sources."""
