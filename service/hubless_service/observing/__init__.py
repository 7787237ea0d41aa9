"""What is seen of the server from outside: metrics, logs, traces, live hubness and drift."""
