pytest_plugins = ["stator_pytest", "pytester"]
