"""What the pytest plugin does once a test asks for it."""
