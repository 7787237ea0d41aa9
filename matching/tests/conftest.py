pytest_plugins = ["support.usual", "support.commands"]
