"""What every layer stands on: configs, registry, random streams, quaternions, errors."""
