"""The engine: `core` decides, `worker` acts. No database or cloud is known to `core`."""
