pytest_plugins = ["support.usual", "support.served"]
